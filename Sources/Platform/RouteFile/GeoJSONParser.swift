// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FoundationEssentials
package import Positioning

/// Parses GeoJSON: a LineString or MultiLineString, by itself or in a Feature or FeatureCollection. All lines are driven
/// consecutively; points with a name or a dwell are waypoints.
package enum GeoJSONParser {
  /// - Parameter file: the name for error messages.
  package static func parse(_ bytes: [UInt8], file: String) throws(RouteFileError) -> Route {
    // A position of three numbers is four values in about six levels, and may have a time.
    guard JSONBounds(maximumCost: RouteFile.maximumPoints * 40).admits(bytes) else {
      throw RouteFileError(
        .tooLarge, file: file,
        "nests arrays or objects deeper than \(JSONBounds.maximumDepth) levels, or has more than "
          + "\(RouteFile.maximumPoints) points")
    }
    let document: GeoJSONDocument
    do {
      document = try JSONDecoder().decode(GeoJSONDocument.self, from: Data(bytes))
    } catch let problem as GeoJSONDocument.Problem {
      let place = problem.path.isEmpty ? "" : "\(problem.path): "
      throw RouteFileError(problem.code, file: file, place + problem.message)
    } catch {
      // The decoder does not report the position of a syntax error.
      throw RouteFileError(
        .malformed, file: file,
        "is not valid JSON; GeoJSON in UTF-8, with finite numbers and not nested too deep, is expected")
    }
    guard let route = Route(points: document.points, waypoints: document.waypoints) else {
      throw RouteFileError(
        .invalid, file: file,
        "has no line of two points or more; GeoJSON with a LineString or a MultiLineString is expected")
    }
    return route
  }
}
