// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A Google service account with its private key, as the Google Cloud console exports it: a JSON file.
package struct ServiceAccount {
  /// Maximum size of the file in bytes; an exported file has about 2400.
  private static let maximumSize = 65_536

  /// The account's e-mail address: `iss` and `sub` in its tokens.
  package let email: String
  /// The key that signs its tokens.
  package let key: SigningKey

  /// Reads the file.
  ///
  /// - Throws: `EmulatorError` that names the file and what is wrong with it, for example that other users have access
  ///   to it.
  package init(file path: String) throws(EmulatorError) {
    try self.init(try Self.content(of: path), file: path)
  }

  /// Parses the contents of such a file.
  ///
  /// - Throws: `EmulatorError` with the file and the member that is wrong, without secrets.
  package init(_ content: [UInt8], file path: String) throws(EmulatorError) {
    let json: JSON
    do throws(JSONError) {
      json = try JSONParser.parse(content)
    } catch {
      throw EmulatorError(.account, "\(path): not JSON, at byte \(error.offset); \(Self.expectation)")
    }
    guard case .object = json else { throw EmulatorError(.account, "\(path): not a JSON object; \(Self.expectation)") }
    func text(_ name: String) throws(EmulatorError) -> String {
      guard let text = json[name]?.string, !text.isEmpty else {
        throw EmulatorError(.account, "\(path): `\(name)` is missing or not a string; \(Self.expectation)")
      }
      return text
    }
    let kind = try text("type")
    guard kind == "service_account" else {
      throw EmulatorError(.account, "\(path): `type` is not \"service_account\"; \(Self.expectation)")
    }
    email = try text("client_email")
    guard email.contains("@"), !email.contains(where: \.isWhitespace) else {
      throw EmulatorError(.account, "\(path): `client_email` is not an e-mail address; \(Self.expectation)")
    }
    let (identifier, pem) = (try text("private_key_id"), try text("private_key"))
    do throws(EmulatorError) {
      key = try SigningKey(pem: pem, identifier: identifier)
    } catch {
      throw EmulatorError(.account, "\(path): `private_key`: \(error.message); \(Self.expectation)")
    }
  }

  private static let expectation = "expected the JSON key of a service account, as the Google Cloud console exports it"

  private static func content(of path: String) throws(EmulatorError) -> [UInt8] {
    // O_NONBLOCK: opening a FIFO must not block.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw EmulatorError(.account, "\(path): cannot be read: \(unsafe String(cString: strerror(errno)))")
    }
    defer { _ = close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw EmulatorError(.account, "\(path): not a regular file; \(expectation)")
    }
    guard status.st_mode & 0o077 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw EmulatorError(
        .account,
        "\(path): users other than its owner have access (mode 0\(mode)), and who has this key is the service account; "
          + "fix it with: chmod 600 \(path)")
    }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while content.count <= maximumSize {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw EmulatorError(.account, "\(path): cannot be read: \(unsafe String(cString: strerror(errno)))")
      }
      if count == 0 { return content }
      content += buffer.prefix(count)
    }
    throw EmulatorError(.account, "\(path): longer than \(maximumSize) bytes; \(expectation)")
  }
}
