// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Positioning

/// Reads a route from a GPX file (GPX 1.0 and 1.1).
package enum RouteFile {
  /// Bytes.
  package static let largest = 64_000_000

  /// The points of all segments of all tracks; when there are none, of all routes; when there are none, the waypoints. In the
  /// order of the file.
  ///
  /// - Parameter path: a regular file of at most 64 MB.
  package static func load(path: String) throws(RouteFileError) -> Route {
    // Opening a FIFO without a writer would wait for one.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw unreadable(path, errno) }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw unreadable(path, errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw unreadable(path, EISDIR) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw RouteFileError(.unreadable, file: path, "is not a regular file; a GPX file is expected")
    }
    let parser = try GPXParser(file: path)
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var total = 0
    while true {
      let count = unsafe read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path, errno) }
      guard count > 0 else { return try parser.finish() }
      total += count
      guard total <= largest else {
        throw RouteFileError(
          .tooLarge, file: path, "is too large: a GPX file of at most \(largest / 1_000_000) MB is expected")
      }
      try parser.parse(chunk[..<count])
    }
  }

  private static func unreadable(_ path: String, _ code: Int32) -> RouteFileError {
    switch code {
    case ENOENT: return RouteFileError(.unreadable, file: path, "does not exist; a GPX file is expected")
    case EISDIR: return RouteFileError(.unreadable, file: path, "is a directory; a GPX file is expected")
    default:
      let reason = unsafe String(cString: strerror(code))
      return RouteFileError(.unreadable, file: path, "cannot be read: \(reason)")
    }
  }
}
