// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// The path of a vehicle along a route: straight segments, and an arc instead of each corner, so that the vehicle's
/// lateral acceleration is finite. It turns on the spot only where the route turns back.
struct RoutePath: Sendable {
  /// Points nearer than this to the previous one are dropped: the noise of a receiver is larger. Metres.
  private static let minimumSpacing = 1.0
  /// The maximum distance of an arc's start from its corner, within which the Earth can be treated as flat. Metres.
  private static let maximumTangent = 150.0
  /// Smaller angles are not turns. Degrees.
  private static let minimumTurn = 0.05
  /// A corner with a smaller radius is a turn on the spot. Metres.
  private static let minimumRadius = 0.05

  /// A point on the path.
  struct Pose: Equatable {
    var coordinate: Coordinate
    /// Degrees true; nil for a path without length.
    var heading: Double?
    var elevation: Double?
  }

  struct Piece: Sendable {
    enum Shape: Sendable {
      case straight(to: Coordinate, endHeading: Double)
      /// Radius in metres, and total turn in degrees, positive to the right.
      case arc(radius: Double, turn: Double)
    }

    let start: Coordinate
    /// Degrees true at the start.
    let heading: Double
    /// Metres from the start of the path.
    let startDistance: Double
    let length: Double
    let shape: Shape
  }

  /// Metres; one lap if the path is closed.
  private(set) var length = 0.0
  private(set) var pieces: [Piece] = []
  /// The vertices; a closed path has the first one again at the end.
  private(set) var vertices: [Route.Point] = []
  /// When the vehicle left each vertex: the time of the last dropped point near it.
  private(set) var departures: [Timestamp?] = []
  /// The distance along the path at which the vehicle is nearest to each vertex.
  private(set) var vertexDistances: [Double] = []
  /// The distances at which the vehicle turns on the spot.
  private(set) var pivots: [Double] = []

  /// - Parameters:
  ///   - closed: whether the path leads from the last point straight back to the first.
  ///   - cornerTolerance: the maximum distance between an arc and its corner, in metres.
  init(_ points: [Route.Point], closed: Bool, cornerTolerance: Double) {
    for point in points {
      guard let last = vertices.indices.last else {
        vertices.append(point)
        departures.append(point.time)
        continue
      }
      if vertices[last].coordinate.distance(to: point.coordinate) < RoutePath.minimumSpacing {
        vertices[last].surroundings = point.surroundings
        departures[last] = point.time ?? departures[last]
      } else {
        vertices.append(point)
        departures.append(point.time)
      }
    }
    let isClosed = closed && vertices.count > 1
    if isClosed, let first = vertices.first {
      if let last = vertices.last, vertices.count > 2,
        last.coordinate.distance(to: first.coordinate) < RoutePath.minimumSpacing
      {
        vertices.removeLast()
        departures.removeLast()
      }
      vertices.append(first)
      departures.append(nil)
    }
    guard vertices.count > 1 else {
      vertexDistances = vertices.map { _ in 0 }
      return
    }
    let legs = zip(vertices, vertices.dropFirst()).map { Leg(from: $0.coordinate, to: $1.coordinate) }
    build(legs, corners: RoutePath.corners(legs, closed: isClosed, cornerTolerance: cornerTolerance), closed: isClosed)
  }

  /// - Parameter distance: metres along the path; clamped to its length.
  func pose(at distance: Double) -> Pose? {
    guard let index = pieces.lastIndex(startingAtOrBefore: distance, by: \.startDistance) else {
      return vertices.first.map { Pose(coordinate: $0.coordinate, heading: nil, elevation: $0.elevation) }
    }
    let piece = pieces[index]
    let along = min(max(distance - piece.startDistance, 0), piece.length)
    var pose: Pose
    switch piece.shape {
    case .straight(let end, let endHeading):
      let coordinate = piece.start.interpolated(to: end, fraction: piece.length > 0 ? along / piece.length : 0)
      // Near the end of the piece, the direction to the end is dominated by rounding errors.
      let heading = piece.length - along < 1 ? endHeading : coordinate.heading(to: end) ?? endHeading
      pose = Pose(coordinate: coordinate, heading: heading)
    case .arc(let radius, let turn):
      let turned = turn * (along / piece.length)
      let chord = 2 * radius * Trigonometry.rotation(degrees: turned.magnitude / 2).sine
      pose = Pose(
        coordinate: piece.start.moved(by: chord, heading: piece.heading + turned / 2),
        heading: RoutePath.normalized(piece.heading + turned))
    }
    pose.elevation = elevation(at: distance)
    return pose
  }

  /// The distance along the path to the place that is nearest to a point, and the point's offset from it. Nil for a
  /// path without length.
  func nearest(to point: Coordinate) -> (distance: Double, offset: Double)? {
    var best: (distance: Double, offset: Double)?
    for index in vertices.indices.dropLast() {
      let start = vertices[index].coordinate
      let toPoint = start.distance(to: point)
      let length = vertexDistances[index + 1] - vertexDistances[index]
      // No point of a leg is nearer if the leg's start is further away than its length plus the best offset so far.
      if let best, toPoint - length > best.offset { continue }
      var along = 0.0
      if let heading = start.heading(to: vertices[index + 1].coordinate), let direction = start.heading(to: point) {
        along = toPoint * Trigonometry.rotation(degrees: direction - heading).cosine
      }
      let distance = vertexDistances[index] + min(max(along, 0), length)
      guard let pose = pose(at: distance) else { continue }
      let offset = pose.coordinate.distance(to: point)
      if offset < best?.offset ?? .infinity { best = (distance, offset) }
    }
    return best
  }

  private func elevation(at distance: Double) -> Double? {
    guard let index = vertexDistances.lastIndex(startingAtOrBefore: distance, by: \.self) else { return nil }
    guard let start = vertices[index].elevation, vertices.indices.contains(index + 1),
      let end = vertices[index + 1].elevation
    else { return vertices[index].elevation }
    let length = vertexDistances[index + 1] - vertexDistances[index]
    return length > 0 ? start + (end - start) * min(max((distance - vertexDistances[index]) / length, 0), 1) : start
  }

  // MARK: - Construction

  private struct Leg {
    let start: Coordinate
    let end: Coordinate
    let length: Double
    let heading: Double
    let endHeading: Double

    init(from start: Coordinate, to end: Coordinate) {
      self.start = start
      self.end = end
      length = start.distance(to: end)
      heading = start.heading(to: end) ?? 0
      endHeading = RoutePath.normalized((end.heading(to: start) ?? heading + 180) - 180)
    }

    /// The point at a distance from the start.
    func point(at distance: Double) -> Coordinate {
      start.interpolated(to: end, fraction: length > 0 ? distance / length : 0)
    }
  }

  private struct Corner {
    static let none = Corner(turn: 0, radius: 0, tangent: 0)

    /// Degrees, positive to the right.
    let turn: Double
    let radius: Double
    /// Metres from the start of the arc to the corner.
    let tangent: Double

    var isPivot: Bool { radius == 0 && turn != 0 }
  }

  /// The corner before each leg, and the one after the last.
  private static func corners(_ legs: [Leg], closed: Bool, cornerTolerance: Double) -> [Corner] {
    (0...legs.count).map { index in
      guard closed || (index > 0 && index < legs.count) else { return .none }
      let before = legs[index > 0 ? index - 1 : legs.count - 1]
      let after = legs[index < legs.count ? index : 0]
      let turn = signed(after.heading - before.endHeading)
      guard turn.magnitude >= minimumTurn else { return .none }
      let half = Trigonometry.rotation(degrees: turn.magnitude / 2)
      let longest = min(before.length / 2, after.length / 2, maximumTangent)
      // An arc that touches both legs passes the corner at a distance of `r / cos(turn / 2) - r`, and begins
      // `r * tan(turn / 2)` before the corner.
      let radius = min(cornerTolerance * half.cosine / (1 - half.cosine), longest * half.cosine / half.sine)
      guard radius >= minimumRadius else { return Corner(turn: turn, radius: 0, tangent: 0) }
      return Corner(turn: turn, radius: radius, tangent: radius * half.sine / half.cosine)
    }
  }

  private mutating func build(_ legs: [Leg], corners: [Corner], closed: Bool) {
    for (index, leg) in legs.enumerated() {
      let (before, after) = (corners[index], corners[index + 1])
      let start = leg.point(at: before.tangent)
      let end = leg.point(at: leg.length - after.tangent)
      if index == 0 {
        // The corner at the start of a closed path is split: the second half now, the first half at the end.
        vertexDistances.append(0)
        if closed, before.radius > 0, let last = legs.last {
          let arc = arc(before, on: last)
          let middle = Piece(
            start: arc.start, heading: arc.heading, startDistance: 0, length: arc.length, shape: arc.shape)
          addHalf(of: before, from: middle)
        }
      }
      let straight = start.distance(to: end)
      if straight > 1e-4 {
        let heading = start.heading(to: end) ?? leg.heading
        let endHeading = RoutePath.normalized((end.heading(to: start) ?? heading + 180) - 180)
        add(start, heading, straight, .straight(to: end, endHeading: endHeading))
      }
      if index + 1 < legs.count {
        if after.radius > 0 {
          let arc = arc(after, on: leg)
          vertexDistances.append(length + arc.length / 2)
          add(arc.start, arc.heading, arc.length, arc.shape)
        } else {
          vertexDistances.append(length)
          if after.isPivot { pivots.append(length) }
        }
      } else {
        if closed, after.radius > 0 {
          let arc = arc(after, on: leg)
          add(arc.start, arc.heading, arc.length / 2, .arc(radius: after.radius, turn: after.turn / 2))
        }
        vertexDistances.append(length)
        if after.isPivot { pivots.append(length) }
      }
    }
  }

  /// The whole arc of a corner at the end of a leg; its distance along the path is not set.
  private func arc(_ corner: Corner, on leg: Leg) -> Piece {
    let start = leg.point(at: leg.length - corner.tangent)
    let heading = leg.length > 1 ? start.heading(to: leg.end) ?? leg.endHeading : leg.endHeading
    return Piece(
      start: start, heading: heading, startDistance: 0, length: corner.radius * corner.turn.magnitude * (.pi / 180),
      shape: .arc(radius: corner.radius, turn: corner.turn))
  }

  /// The second half of an arc.
  private mutating func addHalf(of corner: Corner, from whole: Piece) {
    let chord = 2 * corner.radius * Trigonometry.rotation(degrees: corner.turn.magnitude / 4).sine
    let middle = whole.start.moved(by: chord, heading: whole.heading + corner.turn / 4)
    add(
      middle, RoutePath.normalized(whole.heading + corner.turn / 2), whole.length / 2,
      .arc(radius: corner.radius, turn: corner.turn / 2))
  }

  private mutating func add(_ start: Coordinate, _ heading: Double, _ length: Double, _ shape: Piece.Shape) {
    pieces.append(Piece(start: start, heading: heading, startDistance: self.length, length: length, shape: shape))
    self.length += length
  }

  /// Degrees from 0 up to but not including 360.
  static func normalized(_ degrees: Double) -> Double {
    let rest = degrees - (degrees / 360).rounded(.down) * 360
    return rest < 360 ? rest : 0
  }

  /// Degrees from -180 to 180.
  static func signed(_ degrees: Double) -> Double {
    degrees - (degrees / 360).rounded() * 360
  }
}

extension Array {
  /// The index of the last element whose `begin` is at or before `place`, in an array sorted by `begin`: the first
  /// index if all begin later; nil if the array is empty.
  func lastIndex(startingAtOrBefore place: Double, by begin: (Element) -> Double) -> Int? {
    guard !isEmpty else { return nil }
    var (low, high) = (0, count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if begin(self[middle]) <= place { low = middle } else { high = middle }
    }
    return low
  }
}
