// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// An RSA key: either a generated one of 2048 bits, which is never stored, or one from a file. It signs with RS256
/// (RSASSA-PKCS1-v1_5 with SHA-256).
@safe package final class SigningKey {
  private let key: OpaquePointer

  /// `kid` in the tokens that it signs.
  package let identifier: String

  /// - Throws: `EmulatorError` when OpenSSL has no randomness or no memory.
  package init() throws(EmulatorError) {
    var made: OpaquePointer?
    let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    guard unsafe EVP_PKEY_keygen_init(context) > 0,
      unsafe EVP_PKEY_CTX_ctrl_str(context, "rsa_keygen_bits", "2048") > 0,
      // With three primes (RFC 8017) a key takes 60 ms of CPU to generate, with two 190 ms: the tests start hundreds of
      // emulators.
      unsafe EVP_PKEY_CTX_ctrl_str(context, "rsa_keygen_primes", "3") > 0,
      unsafe EVP_PKEY_keygen(context, &made) > 0, let made = unsafe made
    else { throw EmulatorError(.key, "OpenSSL could not make an RSA key") }
    unsafe key = made
    identifier = String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16)
  }

  /// A private key in PEM, such as `-----BEGIN PRIVATE KEY-----` (PKCS#8), without a passphrase.
  ///
  /// - Throws: `EmulatorError`, which never contains parts of the key.
  package init(pem: String, identifier: String) throws(EmulatorError) {
    let bytes = Array(pem.utf8)
    guard pem.split(separator: "\n").contains(where: { $0.hasPrefix("-----BEGIN PRIVATE KEY-----") }),
      bytes.count <= Int(Int32.max)
    else {
      throw EmulatorError(.key, "no PKCS#8 key in PEM: expected -----BEGIN PRIVATE KEY-----")
    }
    // OpenSSL reads from this memory until the BIO is freed, so it must not move until then. The callback returns no
    // passphrase; without it OpenSSL would prompt on the terminal.
    let read = unsafe bytes.withUnsafeBytes { buffer -> OpaquePointer? in
      let memory = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
      defer { unsafe BIO_free(memory) }
      return unsafe PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in 0 }, nil)
    }
    guard let key = unsafe read else {
      throw EmulatorError(.key, "not a key that OpenSSL can read: it is truncated or damaged")
    }
    unsafe self.key = key
    self.identifier = identifier
    guard unsafe EVP_PKEY_is_a(key, "RSA") == 1, unsafe EVP_PKEY_get_bits(key) >= 2048 else {
      throw EmulatorError(.key, "not an RSA key of 2048 bits or more, which RS256 needs")
    }
  }

  deinit { unsafe EVP_PKEY_free(key) }

  /// The public key in PEM, for other programs; empty if OpenSSL has no memory.
  package var publicKey: String {
    let memory = unsafe BIO_new(BIO_s_mem())
    defer { unsafe BIO_free(memory) }
    guard unsafe PEM_write_bio_PUBKEY(memory, key) == 1 else { return "" }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe BIO_read(memory, &bytes, Int32(bytes.count))
    return String(decoding: bytes.prefix(max(Int(count), 0)), as: UTF8.self)
  }

  /// - Throws: `EmulatorError` when OpenSSL fails.
  package func sign(_ message: [UInt8]) throws(EmulatorError) -> [UInt8] {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(unsafe EVP_PKEY_get_size(key)))
    var length = signature.count
    guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) > 0,
      unsafe EVP_DigestSign(context, &signature, &length, message, message.count) > 0
    else { throw EmulatorError(.key, "OpenSSL could not sign a token") }
    return Array(signature.prefix(length))
  }

  /// Whether the signature was made with this key for exactly these bytes.
  package func isSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) > 0 else { return false }
    return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}
