// SPDX-License-Identifier: Apache-2.0
import JSON
package import SimulatedDrives

/// Parses GeoJSON: a LineString or MultiLineString, by itself or in a Feature or FeatureCollection. All lines are
/// driven consecutively; points with a name or a dwell are waypoints.
package enum GeoJSONParser {
  /// - Parameter file: the name for error messages.
  package static func parse(_ bytes: [UInt8], file: String) throws(RouteFileError) -> Route {
    let json = try json(bytes, file: file)
    let document: GeoJSONDocument
    do throws(GeoJSONDocument.Problem) {
      document = try GeoJSONDocument(json)
    } catch {
      throw RouteFileError(error.code, file: file, (error.path.isEmpty ? "" : "\(error.path): ") + error.message)
    }
    guard let route = Route(points: document.points, waypoints: document.waypoints) else {
      throw RouteFileError(
        .invalid, file: file,
        "has no line of two points or more; GeoJSON with a LineString or a MultiLineString is expected")
    }
    return route
  }

  private static func json(_ bytes: [UInt8], file: String) throws(RouteFileError) -> JSONValue {
    do throws(JSONError) {
      // A position of three numbers counts as four values, and may also have a time.
      return try JSONValue(parsing: bytes, maximumValues: RouteFile.maximumPoints * 10)
    } catch {
      switch error {
      case .tooComplex:
        throw RouteFileError(
          .tooLarge, file: file,
          "nests arrays or objects deeper than \(JSONReader.maximumDepth) levels, has more than "
            + "\(RouteFile.maximumPoints * 10) values, or a text with more than \(JSONReader.maximumMarks) combining marks"
        )
      case .malformed(let offset):
        let before = bytes.prefix(offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
        throw RouteFileError(
          .malformed, file: file, line: line, column: column,
          "is not valid JSON; GeoJSON in UTF-8, with finite numbers, is expected")
      }
    }
  }
}
