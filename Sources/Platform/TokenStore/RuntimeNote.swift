// SPDX-License-Identifier: Apache-2.0
import Glibc
import HTTPMessages
import SystemCalls

/// A short text in a file of the runtime directory, which lies in memory: written at every update, and so with one system
/// call. What a run leaves is whole, for one that is killed still ends its call.
package final class RuntimeNote {
  /// Bytes of the file; what the text leaves is filled with line feeds.
  private static let size = 4096

  private let path: String
  private let store: TokenStore
  private var descriptor: Descriptor?

  /// - Parameters:
  ///   - directory: that of the service, which systemd has made for it.
  ///   - name: of the file.
  package init(directory: String, name: String) {
    path = "\(directory)/\(name)"
    store = TokenStore(directory: directory, name: name)
  }

  /// What the file holds; nil when there is none. Not after the first `write`.
  ///
  /// - Throws: `TokenStoreError`, also when somebody else could have read or written the file.
  package func read() throws(TokenStoreError) -> String? { try store.read()?.reveal() }

  /// Puts a text in the place of what the file holds. The first one makes another file: what is in the way is removed.
  ///
  /// - Parameter text: at most 4096 bytes.
  /// - Throws: `TokenStoreError`.
  package func write(_ text: String) throws(TokenStoreError) {
    var bytes = Array(text.utf8.prefix(RuntimeNote.size))
    bytes += [UInt8](repeating: UInt8(ascii: "\n"), count: RuntimeNote.size - bytes.count)
    do throws(Errno) {
      if descriptor == nil {
        _ = unsafe unlink(path)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        descriptor = Descriptor(owning: try Errno.retrying { unsafe open(path, flags, 0o600) })
      }
      guard let file = descriptor?.rawValue else { return }
      _ = try Errno.retrying { unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, $0.count, 0) } }
    } catch {
      throw TokenStoreError("\(path): cannot be written: \(error)")
    }
  }
}
