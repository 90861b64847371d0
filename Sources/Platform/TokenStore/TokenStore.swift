// SPDX-License-Identifier: Apache-2.0
import Glibc
package import HTTPMessages
import SystemCalls

/// A small secret text in a file of the runtime directory, which lies in memory and which nobody but this service can read.
///
/// The file is written under another name and renamed, so that it is whole or not there.
package struct TokenStore: Sendable {
  /// Longer than any token with what is written beside it. Bytes.
  private static let maximumSize = 131_072

  private let path: String

  /// - Parameters:
  ///   - directory: that of the service, which systemd has made for it.
  ///   - name: of the file.
  package init(directory: String, name: String = "token") {
    path = "\(directory)/\(name)"
  }

  /// What the file holds; nil when there is none.
  ///
  /// - Throws: `TokenStoreError`, also when somebody else could have read or written the file.
  package func read() throws(TokenStoreError) -> Secret? {
    let content: (status: stat, bytes: [UInt8])
    do {
      content = try self.content()
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
      throw TokenStoreError("\(path): others than its owner have access (mode 0\(mode))")
    }
    guard content.bytes.count <= TokenStore.maximumSize, let text = String(validating: content.bytes, as: UTF8.self)
    else {
      throw TokenStoreError("\(path): this is no text of this program")
    }
    return Secret(text)
  }

  /// What the file is and holds, up to a little more than it may.
  private func content() throws(Errno) -> (status: stat, bytes: [UInt8]) {
    // O_NONBLOCK: a FIFO in its place must not hold the service up.
    let descriptor = try Descriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    let status = try descriptor.status()
    var bytes: [UInt8] = []
    guard status.kind == S_IFREG else { return (status, bytes) }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while bytes.count <= TokenStore.maximumSize, case .bytes(let count) = try descriptor.read(into: &buffer) {
      bytes.append(contentsOf: buffer.prefix(count))
    }
    return (status, bytes)
  }

  /// Puts a text in the place of what the file holds.
  ///
  /// - Throws: `TokenStoreError`; the file holds then what it held before, or is not there.
  package func write(_ text: Secret) throws(TokenStoreError) {
    let new = "\(path).new"
    // What a run that was killed has left; a link in its place is not followed.
    _ = unsafe unlink(new)
    do throws(Errno) {
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let descriptor = Descriptor(owning: try Errno.retrying { unsafe open(new, flags, 0o600) })
      try Descriptor.write(Array(text.reveal().utf8), to: descriptor.rawValue)
      _ = try Errno.retrying { unsafe rename(new, path) }
    } catch {
      _ = unsafe unlink(new)
      throw TokenStoreError("\(path): cannot be written: \(error)")
    }
  }

  /// Removes the file, if there is one.
  package func remove() {
    _ = unsafe unlink(path)
    _ = unsafe unlink("\(path).new")
  }
}

/// Why the file of the token cannot be used. The message names it.
package struct TokenStoreError: Error, Equatable, Sendable {
  /// File or directory, what is wrong with it, and what to do.
  package let message: String

  package init(_ message: String) {
    self.message = message
  }
}
