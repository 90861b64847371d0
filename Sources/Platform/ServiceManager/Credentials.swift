// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Glibc
package import HTTPMessages
package import SystemCalls
package import Timekeeping

/// Reads secrets: systemd credentials, and files that only their owner can read.
package struct Credentials: Sendable {
  /// Maximum size in bytes: longer than any token or key in a header.
  private static let maximumSize = 16_384

  private let directory: String?

  /// - Parameter directory: systemd's credentials directory for this service; by default CREDENTIALS_DIRECTORY; nil if
  ///   there is none.
  package init(directory: String? = Credentials.environmentDirectory) {
    self.directory = directory
  }

  /// `$CREDENTIALS_DIRECTORY`; nil outside a unit with credentials.
  package static var environmentDirectory: String? { Environment.value(of: "CREDENTIALS_DIRECTORY") }

  /// The unit to name in messages: the instance to which the directory belongs, or the main service.
  private var unit: String {
    let main = "fleet-locationd"
    let owner = directory?.split(separator: "/").last ?? ""
    return owner.hasPrefix("\(main)@") && owner.hasSuffix(".service") ? String(owner.dropLast(8)).onOneLine : main
  }

  /// The credential with this name in LoadCredential= or SetCredential=.
  ///
  /// - Throws: `notPassed`, `missing`, `denied`, `unusable`.
  package func credential(named name: String) throws(ServiceManagerError) -> Secret {
    guard !name.isEmpty, !name.contains("/"), name != ".", name != "..", !name.utf8.contains(0) else {
      throw ServiceManagerError(.unusable, "credential \"\(name.onOneLine)\": this is not a name that systemd allows")
    }
    let restart = "systemctl restart \(unit)"
    let advice =
      "the unit needs LoadCredential=\(name.onOneLine):/path/of/the/file, and credentials are passed at a start only: "
      + restart
    guard let directory else {
      throw ServiceManagerError(
        .notPassed, "credential \(name.onOneLine): systemd has passed none to this program; \(advice)")
    }
    do {
      return try Credentials.read("\(directory)/\(name)", isPrivate: false, advice: advice)
    } catch  where error.code == .missing {
      let near = NearestName.find(name, among: (SystemFile.names(in: directory) ?? []).sorted())
      let hint = near.map { " (did you mean \"\($0)\"?)" } ?? ""
      throw ServiceManagerError(
        .missing,
        "credential \(name.onOneLine): systemd has passed no file of this name\(hint); check the name, and that in the unit "
          + "(systemctl cat \(unit)) LoadCredential=\(name.onOneLine):/path/of/the/file names a file; credentials are "
          + "passed at a start only: \(restart)", cause: error.cause)
    }
  }

  /// A secret in a file that is accessible only to its owner.
  ///
  /// - Throws: `missing`, `denied`, `exposed`, `unusable`.
  package func secret(inFile path: String) throws(ServiceManagerError) -> Secret {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ServiceManagerError(.missing, "the path of a secret file is empty or contains a NUL")
    }
    return try Credentials.read(path, isPrivate: true, advice: "write the secret into it, with mode 0600")
  }

  /// The token in a file that another program writes, and the file's modification time by the wall clock. The file's
  /// group may read it, because a program of another user shares it in this way.
  ///
  /// - Throws: `missing`, `denied`, `exposed`, `unusable`.
  package func token(inFile path: String) throws(ServiceManagerError) -> (Secret, modified: Timestamp) {
    try Credentials.read(
      path, allowedForOthers: 0o050, expectedMode: "0640", allowsMultipleLines: true,
      advice: "the program that renews the token has to write it")
  }

  private static func read(_ path: String, isPrivate: Bool, advice: String) throws(ServiceManagerError) -> Secret {
    try read(
      path, allowedForOthers: isPrivate ? 0 : 0o777, expectedMode: "600", allowsMultipleLines: false, advice: advice
    ).0
  }

  /// - Parameters:
  ///   - allowedForOthers: the permission bits that are allowed in addition to the owner's.
  ///   - expectedMode: the mode that the file should have.
  ///   - allowsMultipleLines: whether the file may have several lines, and be empty temporarily.
  private static func read(
    _ path: String, allowedForOthers: mode_t, expectedMode: String, allowsMultipleLines: Bool, advice: String
  ) throws(ServiceManagerError) -> (Secret, modified: Timestamp) {
    let content: (status: stat, bytes: [UInt8])
    do {
      content = try SystemFile.content(of: path, limit: maximumSize)
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR:
        throw ServiceManagerError(.missing, "\(path): there is no such file; \(advice)", cause: error)
      case EACCES, EPERM:
        throw ServiceManagerError(
          .denied,
          "\(path): permission denied; the user of the service must own the file (chown fleet-locationd \(path)) and be "
            + "able to enter its directories, and cannot see anything under /root and /home",
          cause: error)
      default:
        throw ServiceManagerError(.unusable, "\(path): cannot be read: \(error)", cause: error)
      }
    }
    guard content.status.kind == S_IFREG else {
      throw ServiceManagerError(.unusable, "\(path): this is not a regular file; \(advice)")
    }
    let others = content.status.st_mode & 0o077 & ~allowedForOthers
    guard others == 0 else {
      throw ServiceManagerError(
        .exposed,
        "\(path): users other than its owner have access (mode \(octal(content.status.st_mode & 0o777))); "
          + "correct it with: chmod \(expectedMode) \(path)")
    }
    let time = content.status.st_mtim
    let modified = Timestamp(seconds: Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    return (try allowsMultipleLines ? multilineSecret(content.bytes, path) : secret(content.bytes, path), modified)
  }

  /// The content of a regular file, up to slightly more than the maximum size: only to be used in comparisons.
  ///
  /// - Throws: the system's error.
  package static func content(ofFile path: String) throws(Errno) -> Secret {
    Secret(String(decoding: try SystemFile.content(of: path, limit: maximumSize).bytes, as: UTF8.self))
  }

  private static func secret(_ bytes: [UInt8], _ path: String) throws(ServiceManagerError) -> Secret {
    guard bytes.count <= maximumSize else {
      throw ServiceManagerError(.unusable, "\(path): longer than \(maximumSize) bytes; a secret is one short text")
    }
    var text = bytes[...]
    // Remove the byte order mark that some editors put before the text; no header begins with it.
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text.removeFirst(3) }
    // Remove the trailing line break that editors add.
    if text.last == UInt8(ascii: "\n") { text.removeLast() }
    if text.last == UInt8(ascii: "\r") { text.removeLast() }
    guard !text.isEmpty else {
      throw ServiceManagerError(.unusable, "\(path): the file is empty; it must contain the secret")
    }
    guard !text.contains(0), let string = String(validating: text, as: UTF8.self) else {
      throw ServiceManagerError(
        .unusable, "\(path): the file is not text; it must contain the secret as one line of text")
    }
    return Secret(string)
  }

  private static func multilineSecret(_ bytes: [UInt8], _ path: String) throws(ServiceManagerError) -> Secret {
    guard bytes.count <= maximumSize else {
      throw ServiceManagerError(.unusable, "\(path): longer than \(maximumSize) bytes; one token is expected")
    }
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw ServiceManagerError(.unusable, "\(path): the file is not text; it must hold the token, or JSON with it")
    }
    return Secret(string)
  }

  private static func octal(_ mode: mode_t) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
  }
}
