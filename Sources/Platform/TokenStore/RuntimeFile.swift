// SPDX-License-Identifier: Apache-2.0
import Glibc
import HTTPMessages
import SystemCalls

/// A short text in a file of the runtime directory, which is in memory (tmpfs). It is written with one system call for
/// every update. A process that is killed completes this call, so the text is never truncated; the first text of a run
/// replaces that of the previous run as a whole.
package final class RuntimeFile {
  /// Size of the file; the text is padded with line feeds.
  private static let size = 4096

  private let path: String
  private let store: TokenStore
  private var descriptor: Descriptor?

  /// - Parameters:
  ///   - directory: the service's runtime directory, created by systemd.
  ///   - name: the file name.
  package init(directory: String, name: String) {
    path = "\(directory)/\(name)"
    store = TokenStore(directory: directory, name: name)
  }

  /// The content of the file; nil if it does not exist. Must not be called after the first `write`.
  ///
  /// - Throws: `TokenStoreError`, including when another user could have read or written the file.
  package func read() throws(TokenStoreError) -> String? { try store.read()?.reveal() }

  /// Replaces the content of the file. The first call replaces the file itself.
  ///
  /// - Parameter text: at most 4096 bytes.
  /// - Throws: `TokenStoreError`.
  package func write(_ text: String) throws(TokenStoreError) {
    var bytes = Array(text.utf8.prefix(RuntimeFile.size))
    bytes += [UInt8](repeating: UInt8(ascii: "\n"), count: RuntimeFile.size - bytes.count)
    do throws(Errno) {
      if let file = descriptor?.rawValue { return try write(bytes, to: file) }
      let new = path + ".new"
      _ = unsafe unlink(new)
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let file = try Errno.retrying { unsafe open(new, flags, 0o600) }
      descriptor = Descriptor(owning: file)
      do throws(Errno) {
        try write(bytes, to: file)
        _ = try Errno.retrying { unsafe rename(new, path) }
      } catch {
        descriptor = nil
        throw error
      }
    } catch {
      throw TokenStoreError("\(path): cannot be written: \(error)")
    }
  }

  private func write(_ bytes: [UInt8], to file: Int32) throws(Errno) {
    _ = try Errno.retrying { unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, $0.count, 0) } }
  }
}
