// SPDX-License-Identifier: Apache-2.0
import Authorization
import Glibc
import HTTPMessages
import SystemCalls
import TokenStore

/// Caches the token for the next run, as `VehicleAgent` decides.
struct TokenCache {
  private let file: TokenStore?

  /// - Parameter directory: the runtime directory; nil caches nothing.
  init(directory: String? = RuntimeDirectory.path) {
    file = directory.map { TokenStore(directory: $0) }
  }

  /// Reads the token of an earlier run; nil if there is none.
  ///
  /// - Throws: why the file cannot be used; it is then removed.
  func read() throws(TokenStoreError) -> Secret? {
    do {
      return try file?.read()
    } catch {
      file?.remove()
      throw error
    }
  }

  func store(_ text: Secret) throws(TokenStoreError) {
    try file?.write(text)
  }

  func remove() {
    file?.remove()
  }
}

extension StoredToken.Key {
  /// The key under which a token of these settings is cached in this boot; nil if it is not cached.
  init?(_ context: AuthorizationContext?, _ provider: TokenProvider, directory: String? = RuntimeDirectory.path) {
    guard directory != nil, let boot = StoredToken.Key.currentBootID,
      let subject = StoredToken.subject(of: context, from: provider),
      let digest = Digest.hexadecimal(of: subject)
    else { return nil }
    self.init(subject: digest, boot: boot)
  }

  /// The kernel's boot ID, as 32 hexadecimal digits. The unit hides the kernel's file from the service
  /// (ProcSubset=pid), and passes the ID in the environment instead.
  static var currentBootID: String? {
    let passed = Environment.value(of: "FLEET_BOOT_ID")
    return (identifier(in: firstBytes(of: "/proc/sys/kernel/random/boot_id")) ?? passed.flatMap { identifier(in: $0) })
  }

  private static func identifier(in text: String) -> String? {
    let digits = text.filter { $0 != "-" && !$0.isWhitespace }.lowercased()
    guard digits.utf8.count == 32, digits.allSatisfy(\.isHexDigit) else { return nil }
    return digits
  }

  private static func firstBytes(of path: String) -> String {
    var buffer = [UInt8](repeating: 0, count: 64)
    guard let descriptor = try? Descriptor.open(path, O_RDONLY | O_NONBLOCK),
      case .bytes(let count)? = try? descriptor.read(into: &buffer)
    else { return "" }
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}
