// SPDX-License-Identifier: Apache-2.0
import Authorization
import Glibc
import HTTPMessages
import Delivery
import SystemCalls
import TokenStore

/// Keeps the token for the next run of the program: does what `VehicleAgent` decides.
struct TokenKeeper {
  private let store: TokenStore?

  /// - Parameter directory: of the service; nil keeps nothing.
  init(directory: String? = RuntimeDirectory.path) {
    store = directory.map { TokenStore(directory: $0) }
  }

  /// What an earlier run has kept; nil when there is nothing.
  ///
  /// - Throws: what is wrong with the file, which is removed.
  func find() throws(TokenStoreError) -> Secret? {
    do {
      return try store?.read()
    } catch {
      store?.remove()
      throw error
    }
  }

  func keep(_ text: Secret) throws(TokenStoreError) {
    try store?.write(text)
  }

  func forget() {
    store?.remove()
  }
}

extension KeptToken.Key {
  /// What a token of these settings is kept under in this boot; nil when none is kept.
  init?(_ context: AuthorizationContext?, _ provider: TokenProvider, directory: String? = RuntimeDirectory.path) {
    guard directory != nil, let boot = KeptToken.Key.currentBoot,
      let subject = KeptToken.subject(of: context, from: provider),
      let digest = Digest.hexadecimal(of: subject)
    else { return nil }
    self.init(subject: digest, boot: boot)
  }

  /// The kernel's name of this boot, as 32 hexadecimal digits. The unit hides the kernel's file from the service (ProcSubset=pid),
  /// and tells the name itself instead.
  static var currentBoot: String? {
    let told = Environment.value(of: "FLEET_BOOT_ID")
    return (identifier(in: firstBytes(of: "/proc/sys/kernel/random/boot_id")) ?? told.flatMap { identifier(in: $0) })
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
