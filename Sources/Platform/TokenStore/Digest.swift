// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The SHA-256 digest of a text.
package enum Digest {
  /// The digest of a text as 64 hexadecimal digits; nil if OpenSSL has no memory or no such digest.
  package static func hexadecimal(of text: String) -> String? {
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    guard unsafe EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha256(), nil) == 1, length == 32 else {
      return nil
    }
    return digest.prefix(32).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0\(digits)" : digits
    }.joined()
  }
}
