// SPDX-License-Identifier: Apache-2.0
import Glibc
package import HTTPMessages
import SystemCalls

/// A small secret in a file of the runtime directory, which is in memory (tmpfs) and readable only by the service.
///
/// The file is written under another name and renamed, so that it is either complete or does not exist.
package struct TokenStore: Sendable {
  /// Maximum size in bytes: more than any token with its metadata.
  private static let maximumSize = 131_072

  private let path: String

  /// - Parameters:
  ///   - directory: the service's runtime directory, created by systemd.
  ///   - name: the file name.
  package init(directory: String, name: String = "token") {
    path = "\(directory)/\(name)"
  }

  /// The content of the file; nil if it does not exist.
  ///
  /// - Throws: `TokenStoreError`, including when another user could have read or written the file.
  package func read() throws(TokenStoreError) -> Secret? {
    let content: (status: stat, bytes: [UInt8])
    do {
      content = try SystemFile.content(of: path, limit: TokenStore.maximumSize, flags: O_NOFOLLOW)
    } catch {
      if error.code == ENOENT { return nil }
      throw TokenStoreError("\(path): cannot be read: \(error.code == ELOOP ? "it is a link" : "\(error)")")
    }
    let status = content.status
    guard status.kind == S_IFREG else { throw TokenStoreError("\(path): this is not a regular file") }
    guard status.st_uid == geteuid() else {
      throw TokenStoreError("\(path): it belongs to user \(status.st_uid), and this service is user \(geteuid())")
    }
    guard status.st_mode & 0o077 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw TokenStoreError("\(path): users other than its owner have access (mode 0\(mode))")
    }
    guard content.bytes.count <= TokenStore.maximumSize, let text = String(validating: content.bytes, as: UTF8.self)
    else {
      throw TokenStoreError("\(path): this is not a text of this program")
    }
    return Secret(text)
  }

  /// Replaces the content of the file.
  ///
  /// - Throws: `TokenStoreError`; then the file is unchanged, or does not exist.
  package func write(_ text: Secret) throws(TokenStoreError) {
    do throws(Errno) {
      try AtomicFile.write(Array(text.reveal().utf8), to: path, mode: 0o600, isDurable: false)
    } catch {
      throw TokenStoreError("\(path): cannot be written: \(error)")
    }
  }

  /// Removes the file if there is one.
  package func remove() {
    _ = unsafe unlink(path)
    _ = unsafe unlink("\(path).new")
  }
}

/// Why the token's file cannot be used. The message names the file.
package struct TokenStoreError: Error, Equatable, Sendable {
  /// File or directory, what is wrong with it, and the remedy.
  package let message: String

  package init(_ message: String) {
    self.message = message
  }
}
