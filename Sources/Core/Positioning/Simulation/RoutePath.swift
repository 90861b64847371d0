// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The way that a vehicle takes along a route: straight pieces, and an arc in place of each corner, so that it never turns
/// on the spot and its lateral acceleration has a meaning.
struct RoutePath: Sendable {
  /// Points nearer than this to the one before are left out: a receiver scatters more. Metres.
  private static let nearest = 1.0
  /// An arc leaves the leg at most so far before its corner, where the Earth is still flat. Metres.
  private static let longestTangent = 150.0
  /// Less is no turn. Degrees.
  private static let smallestTurn = 0.05
  /// Less is no arc, but a turn on the spot. Metres.
  private static let smallestRadius = 0.05

  /// Where one is on the way.
  struct Place: Equatable {
    var coordinate: Coordinate
    /// Degrees true; nil on a way that leads nowhere.
    var heading: Double?
    var elevation: Double?
  }

  struct Piece: Sendable {
    enum Shape: Sendable {
      case straight(to: Coordinate, endHeading: Double)
      /// Metres, and degrees turned in all, to the right more than 0.
      case arc(radius: Double, turn: Double)
    }

    let start: Coordinate
    /// Degrees true at the start.
    let heading: Double
    /// Metres from the start of the way.
    let begin: Double
    let length: Double
    let shape: Shape
  }

  /// Metres, once around when it is closed.
  private(set) var length = 0.0
  private(set) var pieces: [Piece] = []
  /// The points that were kept; a closed way has its first once more at the end.
  private(set) var vertices: [Route.Point] = []
  /// When each was left: the time of the last point that was left out for being near to it.
  private(set) var departures: [Timestamp?] = []
  /// How far along the way the vehicle is nearest to each of them.
  private(set) var vertexDistances: [Double] = []
  /// Where it turns on the spot.
  private(set) var pivots: [Double] = []

  /// - Parameters:
  ///   - closed: whether it leads on from the last point straight back to the first.
  ///   - shortcut: how far an arc may pass its corner by, metres.
  init(_ points: [Route.Point], closed: Bool, shortcut: Double) {
    for point in points {
      guard let last = vertices.indices.last else {
        vertices.append(point)
        departures.append(point.time)
        continue
      }
      if vertices[last].coordinate.distance(to: point.coordinate) < RoutePath.nearest {
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
        last.coordinate.distance(to: first.coordinate) < RoutePath.nearest
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
    lay(legs, corners: RoutePath.corners(legs, closed: isClosed, shortcut: shortcut), closed: isClosed)
  }

  /// - Parameter distance: metres along the way; before the start is the start, past the end the end.
  func place(at distance: Double) -> Place? {
    guard let index = pieces.lastIndex(startingAtOrBefore: distance, by: \.begin) else {
      return vertices.first.map { Place(coordinate: $0.coordinate, heading: nil, elevation: $0.elevation) }
    }
    let piece = pieces[index]
    let along = min(max(distance - piece.begin, 0), piece.length)
    var place: Place
    switch piece.shape {
    case .straight(let end, let endHeading):
      let coordinate = piece.start.interpolated(to: end, fraction: piece.length > 0 ? along / piece.length : 0)
      // The direction to the end turns into the noise of the arithmetic when the end is near.
      let heading = piece.length - along < 1 ? endHeading : coordinate.heading(to: end) ?? endHeading
      place = Place(coordinate: coordinate, heading: heading)
    case .arc(let radius, let turn):
      let turned = turn * (along / piece.length)
      let chord = 2 * radius * Trigonometry.rotation(degrees: turned.magnitude / 2).sine
      place = Place(
        coordinate: piece.start.moved(by: chord, heading: piece.heading + turned / 2),
        heading: RoutePath.normal(piece.heading + turned))
    }
    place.elevation = elevation(at: distance)
    return place
  }

  /// How far along the way it is nearest to a point, and how near. Nil on a way that leads nowhere.
  func nearest(to point: Coordinate) -> (distance: Double, offset: Double)? {
    var best: (distance: Double, offset: Double)?
    for index in vertices.indices.dropLast() {
      let start = vertices[index].coordinate
      let toPoint = start.distance(to: point)
      let length = vertexDistances[index + 1] - vertexDistances[index]
      // The legs that begin further away than their length and the best so far are not looked at.
      if let best, toPoint - length > best.offset { continue }
      var along = 0.0
      if let heading = start.heading(to: vertices[index + 1].coordinate), let direction = start.heading(to: point) {
        along = toPoint * Trigonometry.rotation(degrees: direction - heading).cosine
      }
      let distance = vertexDistances[index] + min(max(along, 0), length)
      guard let place = place(at: distance) else { continue }
      let offset = place.coordinate.distance(to: point)
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

  // MARK: - Laying it

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
      endHeading = RoutePath.normal((end.heading(to: start) ?? heading + 180) - 180)
    }

    /// The point so far from the start.
    func point(at distance: Double) -> Coordinate {
      start.interpolated(to: end, fraction: length > 0 ? distance / length : 0)
    }
  }

  private struct Corner {
    static let none = Corner(turn: 0, radius: 0, tangent: 0)

    /// Degrees, to the right more than 0.
    let turn: Double
    let radius: Double
    /// Metres from where the arc begins to the corner.
    let tangent: Double

    var isPivot: Bool { radius == 0 && turn != 0 }
  }

  /// The corner before each leg, and the one after the last.
  private static func corners(_ legs: [Leg], closed: Bool, shortcut: Double) -> [Corner] {
    (0...legs.count).map { index in
      guard closed || (index > 0 && index < legs.count) else { return .none }
      let before = legs[index > 0 ? index - 1 : legs.count - 1]
      let after = legs[index < legs.count ? index : 0]
      let turn = signed(after.heading - before.endHeading)
      guard turn.magnitude >= smallestTurn else { return .none }
      let half = Trigonometry.rotation(degrees: turn.magnitude / 2)
      let longest = min(before.length / 2, after.length / 2, longestTangent)
      // An arc that touches both legs passes the corner by r / cos(turn / 2) - r, and begins r * tan(turn / 2) before it.
      let radius = min(shortcut * half.cosine / (1 - half.cosine), longest * half.cosine / half.sine)
      guard radius >= smallestRadius else { return Corner(turn: turn, radius: 0, tangent: 0) }
      return Corner(turn: turn, radius: radius, tangent: radius * half.sine / half.cosine)
    }
  }

  private mutating func lay(_ legs: [Leg], corners: [Corner], closed: Bool) {
    for (index, leg) in legs.enumerated() {
      let (before, after) = (corners[index], corners[index + 1])
      let start = leg.point(at: before.tangent)
      let end = leg.point(at: leg.length - after.tangent)
      if index == 0 {
        // The corner where a closed way begins is driven by halves: the second half now, the first half at the end.
        vertexDistances.append(0)
        if closed, before.radius > 0, let last = legs.last {
          let arc = arc(before, on: last)
          let middle = Piece(start: arc.start, heading: arc.heading, begin: 0, length: arc.length, shape: arc.shape)
          addHalf(of: before, from: middle)
        }
      }
      let straight = start.distance(to: end)
      if straight > 1e-4 {
        let heading = start.heading(to: end) ?? leg.heading
        let endHeading = RoutePath.normal((end.heading(to: start) ?? heading + 180) - 180)
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

  /// The whole arc of a corner at the end of a leg; where it begins on the way is not told.
  private func arc(_ corner: Corner, on leg: Leg) -> Piece {
    let start = leg.point(at: leg.length - corner.tangent)
    let heading = leg.length > 1 ? start.heading(to: leg.end) ?? leg.endHeading : leg.endHeading
    return Piece(
      start: start, heading: heading, begin: 0, length: corner.radius * corner.turn.magnitude * (.pi / 180),
      shape: .arc(radius: corner.radius, turn: corner.turn))
  }

  /// The second half of an arc.
  private mutating func addHalf(of corner: Corner, from whole: Piece) {
    let chord = 2 * corner.radius * Trigonometry.rotation(degrees: corner.turn.magnitude / 4).sine
    let middle = whole.start.moved(by: chord, heading: whole.heading + corner.turn / 4)
    add(
      middle, RoutePath.normal(whole.heading + corner.turn / 2), whole.length / 2,
      .arc(radius: corner.radius, turn: corner.turn / 2))
  }

  private mutating func add(_ start: Coordinate, _ heading: Double, _ length: Double, _ shape: Piece.Shape) {
    pieces.append(Piece(start: start, heading: heading, begin: self.length, length: length, shape: shape))
    self.length += length
  }

  /// Degrees from 0 up to but not 360.
  static func normal(_ degrees: Double) -> Double {
    let rest = degrees - (degrees / 360).rounded(.down) * 360
    return rest < 360 ? rest : 0
  }

  /// Degrees from -180 to 180.
  static func signed(_ degrees: Double) -> Double {
    degrees - (degrees / 360).rounded() * 360
  }
}

extension Array {
  /// The last element that does not begin after a place, in an array that is ordered by it; the first when all do.
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
