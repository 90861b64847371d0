// SPDX-License-Identifier: Apache-2.0
import Observability

/// The vehicle's track over the last few minutes, drawn with characters, north up.
struct TrackSketch {
  /// The dots of one character: a braille pattern (from U+2800) has two columns of four dots, about evenly spaced.
  private static let dots = (across: 2, down: 4)

  /// Minimum scale, in metres per dot: smaller movements are noise.
  private static let minimumScale = 1.0

  /// Metres east and north of the newest position.
  private struct Point {
    var east: Double
    var north: Double
  }

  private let points: [Point]
  private let newest: Point
  private let seconds: Int64

  /// - Parameter track: nil, or fewer than two points, gives no sketch.
  init?(_ track: StatusReport.Track?) {
    guard let track else { return nil }
    let points = track.points.compactMap { pair in
      pair.count == 2 ? Point(east: Double(pair[0]), north: Double(pair[1])) : nil
    }
    guard points.count > 1, let newest = points.last else { return nil }
    self.points = points
    self.newest = newest
    seconds = track.seconds
  }

  /// The duration and the size of the track, such as `Track, 10 min, 1.2 km`.
  var caption: String {
    let size = max(extent(\.east), extent(\.north))
    return "Track, \(StatusRows.durationText(seconds)), \(TrackSketch.distance(size))"
  }

  /// - Parameters:
  ///   - columns: one or more.
  ///   - rows: one or more.
  /// - Returns: `rows` lines, none wider than `columns`.
  func lines(columns: Int, rows: Int, isUnicode: Bool) -> [StyledText] {
    let dots = isUnicode ? TrackSketch.dots : (across: 1, down: 1)
    // A character is twice as high as wide; braille dots are about square.
    let aspectRatio = isUnicode ? 1.0 : 0.5
    let (width, height) = (max(columns, 1) * dots.across, max(rows, 1) * dots.down)
    let scale = max(
      extent(\.east) / Double(max(width - 1, 1)), extent(\.north) * aspectRatio / Double(max(height - 1, 1)),
      TrackSketch.minimumScale)
    let middle = (east: centre(\.east), north: centre(\.north))
    func dot(_ point: Point) -> (x: Int, y: Int) {
      let x = (point.east - middle.east) / scale + Double(width - 1) / 2
      let y = (middle.north - point.north) * aspectRatio / scale + Double(height - 1) / 2
      return (
        Int(min(max(x.rounded(), 0), Double(width - 1))), Int(min(max(y.rounded(), 0), Double(height - 1)))
      )
    }
    var canvas = Canvas(columns: max(columns, 1), rows: max(rows, 1), dots: dots)
    for (start, end) in zip(points, points.dropFirst()) { canvas.line(from: dot(start), to: dot(end)) }
    let here = dot(newest)
    return canvas.lines(isUnicode: isUnicode, here: (here.x / dots.across, here.y / dots.down))
  }

  private func extent(_ axis: KeyPath<Point, Double>) -> Double {
    let values = points.map { $0[keyPath: axis] }
    return (values.max() ?? 0) - (values.min() ?? 0)
  }

  private func centre(_ axis: KeyPath<Point, Double>) -> Double {
    let values = points.map { $0[keyPath: axis] }
    return ((values.max() ?? 0) + (values.min() ?? 0)) / 2
  }

  private static func distance(_ metres: Double) -> String {
    if metres < 1000 { return "\(Int(metres)) m" }
    if metres < 100_000 {
      let tenths = Int((metres / 100).rounded())
      return "\(tenths / 10).\(tenths % 10) km"
    }
    return "\(Int((metres / 1000).rounded())) km"
  }
}

/// A bitmap of dots, drawn with characters.
private struct Canvas {
  private let columns: Int
  private let rows: Int
  private let dots: (across: Int, down: Int)
  /// For each character the bits of its braille pattern.
  private var cells: [UInt8]

  init(columns: Int, rows: Int, dots: (across: Int, down: Int)) {
    self.columns = columns
    self.rows = rows
    self.dots = dots
    cells = [UInt8](repeating: 0, count: columns * rows)
  }

  /// Draws a line with Bresenham's algorithm.
  mutating func line(from start: (x: Int, y: Int), to end: (x: Int, y: Int)) {
    var (x, y) = start
    let (across, down) = (abs(end.x - x), -abs(end.y - y))
    let step = (x: x < end.x ? 1 : -1, y: y < end.y ? 1 : -1)
    var error = across + down
    while true {
      set(x, y)
      if x == end.x, y == end.y { return }
      let twice = 2 * error
      if twice >= down {
        error += down
        x += step.x
      }
      if twice <= across {
        error += across
        y += step.y
      }
    }
  }

  private mutating func set(_ x: Int, _ y: Int) {
    let cell = y / dots.down * columns + x / dots.across
    guard cells.indices.contains(cell) else { return }
    // Dots 1 to 3 are the upper ones on the left, 4 to 6 on the right, 7 and 8 the lowest.
    let bits: [[UInt8]] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]
    cells[cell] |= bits[y % dots.down][x % dots.across]
  }

  func lines(isUnicode: Bool, here: (column: Int, row: Int)) -> [StyledText] {
    (0..<rows).map { row in
      var line = StyledText()
      for column in 0..<columns {
        let bits = cells[row * columns + column]
        if (column, row) == here {
          line.append("@", .strong)
        } else if bits == 0 {
          line.append(" ")
        } else {
          line.append(isUnicode ? String(UnicodeScalar(0x2800 + UInt32(bits)).map(Character.init) ?? "*") : "*")
        }
      }
      return line
    }
  }
}
