// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A small file that is replaced atomically: readers see the old or the new content.
package enum AtomicFile {
  /// Writes a temporary file next to `path` and renames it.
  ///
  /// - Parameters:
  ///   - mode: the permissions, regardless of the umask.
  ///   - isDurable: whether the file and its name are on disk on return.
  ///   - allowsEmptyFile: whether an empty file is better than none if the disk is full.
  ///   - isUserDirectory: whether a person may have named another file in the directory NAME.new: the temporary file
  ///     is then hidden.
  package static func write(
    _ bytes: [UInt8], to path: String, mode: mode_t, isDurable: Bool, allowsEmptyFile: Bool = false,
    isUserDirectory: Bool = false
  ) throws(Errno) {
    let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
    let temporary = isUserDirectory ? "\(directory(of: path))/.\(name).new" : path + ".new"
    // A crash may have left a temporary file behind, with which O_EXCL would fail.
    _ = unsafe unlink(temporary)
    do throws(Errno) {
      let file = Descriptor(
        owning: try Errno.retrying {
          unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        })
      _ = try Errno.retrying { fchmod(file.rawValue, mode) }
      do throws(Errno) {
        try Descriptor.write(bytes, to: file.rawValue)
        if isDurable { _ = try Errno.retrying { fsync(file.rawValue) } }
      } catch {
        guard allowsEmptyFile, error.code == ENOSPC || error.code == EDQUOT else { throw error }
      }
      _ = try Errno.retrying { unsafe rename(temporary, path) }
    } catch {
      _ = unsafe unlink(temporary)
      throw error
    }
    if isDurable { try syncDirectory(of: path) }
  }

  /// Gives a file a second name durably; under this name it remains when the first one is replaced.
  ///
  /// - Throws: EEXIST if there is a file of this name.
  package static func hardLink(_ path: String, as new: String) throws(Errno) {
    _ = try Errno.retrying { unsafe link(path, new) }
    try syncDirectory(of: new)
  }

  /// Makes the directory of a file, if it does not exist, with mode 0755.
  package static func makeDirectory(of path: String) throws(Errno) {
    guard let end = path.lastIndex(of: "/"), end > path.startIndex else { return }
    do throws(Errno) {
      _ = try Errno.retrying { unsafe mkdir(String(path[..<end]), 0o755) }
    } catch {
      guard error.code == EEXIST else { throw error }
    }
  }

  /// Removes a file durably; no effect if it does not exist.
  package static func remove(_ path: String) throws(Errno) {
    do throws(Errno) {
      _ = try Errno.retrying { unsafe unlink(path) }
    } catch {
      // On a read-only file system unlink(2) fails before it looks for the file.
      var status = stat()
      let isMissing = error.code == EROFS ? unsafe lstat(path, &status) != 0 && errno == ENOENT : error.code == ENOENT
      guard isMissing else { throw error }
      return
    }
    try syncDirectory(of: path)
  }

  /// At most `limit` bytes from the start of a regular file; empty if it cannot be read, or is not a regular file.
  ///
  /// - Returns: nil if the file does not exist.
  /// - Throws: the error of lstat(2), if its existence is unknown.
  package static func read(_ path: String, limit: Int) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      var status = stat()
      _ = try Errno.retrying { unsafe lstat(path, &status) }
      guard status.kind == S_IFREG else { return [] }
    } catch {
      guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
      return nil
    }
    var buffer = [UInt8](repeating: 0, count: limit)
    guard let file = try? Descriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
      case .bytes(let count)? = try? file.read(into: &buffer)
    else { return [] }
    return Array(buffer.prefix(count))
  }

  /// The directory of a file.
  ///
  /// - Returns: `.` for a path without `/`.
  package static func directory(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// A rename is durable only after its directory was synced.
  private static func syncDirectory(of path: String) throws(Errno) {
    let parent = try Descriptor.open(directory(of: path), O_RDONLY | O_DIRECTORY)
    _ = try Errno.retrying { fsync(parent.rawValue) }
  }
}
