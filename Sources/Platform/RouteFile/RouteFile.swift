// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SimulatedDrives

/// Loads a route from a GPX file (GPX 1.0 and 1.1) or a GeoJSON file (RFC 7946), detected by content.
package enum RouteFile {
  /// Maximum size in bytes of a GPX file, which is parsed incrementally.
  package static let maximumSize = 16_000_000
  /// Maximum size in bytes of a GeoJSON file, which is decoded as a whole, and then needs about ten times as much
  /// memory.
  package static let maximumJSONSize = 2_000_000
  /// Maximum number of points, limited by the unit's memory.
  package static let maximumPoints = 50_000
  /// Maximum number of waypoints with a name or a dwell.
  package static let maximumWaypoints = 2000

  /// The points of the route, in file order. In GPX, they are those of all segments of all tracks; if there are none,
  /// those of all routes; if there are none, the waypoints. In GeoJSON, they are those of all lines.
  ///
  /// `<type>` or the property `type` with the value `tunnel` or `canyon` sets the surroundings of a track, of a line,
  /// or of the route from one point to the next; on a waypoint, `stop` makes the vehicle stop for `dwell` seconds (an
  /// element of `<extensions>`, or a property), by default a minute.
  ///
  /// - Parameter path: a regular file of at most 16 MB, or 2 MB of GeoJSON.
  package static func load(path: String) throws(RouteFileError) -> Route {
    // Opening a FIFO without a writer would block.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw unreadable(path, errno) }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw unreadable(path, errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw unreadable(path, EISDIR) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw RouteFileError(.unreadable, file: path, "is not a regular file; a GPX or GeoJSON file is expected")
    }
    let parser = try GPXParser(file: path)
    var json: [UInt8]?
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var total = 0
    while true {
      let count = unsafe read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path, errno) }
      if total == 0, isJSON(chunk[..<count], path: path) { json = [] }
      guard count > 0 else {
        if let json { return try GeoJSONParser.parse(json, file: path) }
        return try parser.finish()
      }
      total += count
      let limit = json == nil ? maximumSize : maximumJSONSize
      guard total <= limit else {
        throw RouteFileError(
          .tooLarge, file: path,
          "is too large: \(json == nil ? "GPX" : "GeoJSON") of at most \(limit / 1_000_000) MB is expected")
      }
      if json == nil {
        try parser.parse(chunk[..<count])
      } else {
        json? += chunk[..<count]
      }
    }
  }

  /// Whether the file is JSON. The first byte that is not a space decides; if it begins neither XML nor JSON, the name
  /// of the file does.
  static func isJSON(_ start: ArraySlice<UInt8>, path: String) -> Bool {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = start.starts(with: byteOrderMark) ? start.dropFirst(byteOrderMark.count) : start
    switch text.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
    case UInt8(ascii: "{"), UInt8(ascii: "["): return true
    // UTF-16 begins with a byte order mark or a zero byte.
    case UInt8(ascii: "<"), 0xFF, 0xFE, 0: return false
    default: return path.lowercased().hasSuffix("json")
    }
  }

  private static func unreadable(_ path: String, _ code: Int32) -> RouteFileError {
    switch code {
    case ENOENT: return RouteFileError(.unreadable, file: path, "does not exist; a GPX or GeoJSON file is expected")
    case EISDIR: return RouteFileError(.unreadable, file: path, "is a directory; a GPX or GeoJSON file is expected")
    default:
      let reason = unsafe String(cString: strerror(code))
      return RouteFileError(.unreadable, file: path, "cannot be read: \(reason)")
    }
  }
}
