// SPDX-License-Identifier: Apache-2.0

/// Writes an SVG picture. Coordinates are pixels from the upper left corner; colours are as in CSS.
struct SVGPicture {
  private var body = ""
  private let width: Double
  private let height: Double

  init(width: Double, height: Double) {
    self.width = width
    self.height = height
  }

  var svg: String {
    let size = "\(SVGPicture.number(width)) \(SVGPicture.number(height))"
    let (width, height) = (SVGPicture.number(width), SVGPicture.number(height))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size)" width="\(width)" height="\(height)" \
      font-family="sans-serif">
      <rect width="100%" height="100%" fill="#ffffff"/>
      \(body)</svg>

      """
  }

  mutating func frame(x: Double, y: Double, width: Double, height: Double) {
    body +=
      "<rect x=\"\(SVGPicture.number(x))\" y=\"\(SVGPicture.number(y))\" width=\"\(SVGPicture.number(width))\" "
      + "height=\"\(SVGPicture.number(height))\" fill=\"#f8fafc\" stroke=\"#cbd5e1\"/>\n"
  }

  /// A polyline; points that are indistinguishable from the previous one are skipped.
  mutating func line(_ points: [(Double, Double)], color: String, width: Double, isDashed: Bool = false) {
    let points = SVGPicture.thinned(points)
    guard points.count > 1 else { return }
    let list = points.map { SVGPicture.pair($0) }.joined(separator: " ")
    body +=
      "<polyline points=\"\(list)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"\(SVGPicture.number(width))\" "
      + "stroke-linejoin=\"round\"\(isDashed ? " stroke-dasharray=\"4 4\"" : "")/>\n"
  }

  /// Filled dots of one colour in one element: there may be many.
  mutating func dots(_ points: [(Double, Double)], color: String, width: Double) {
    let points = SVGPicture.thinned(points)
    guard !points.isEmpty else { return }
    let path = points.map { "M\(SVGPicture.pair($0))h0" }.joined()
    body +=
      "<path d=\"\(path)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"\(SVGPicture.number(width))\" "
      + "stroke-linecap=\"round\"/>\n"
  }

  /// - Parameter tooltip: the text that a viewer shows at the pointer.
  mutating func circle(x: Double, y: Double, radius: Double, color: String, tooltip: String = "") {
    body +=
      "<circle cx=\"\(SVGPicture.number(x))\" cy=\"\(SVGPicture.number(y))\" r=\"\(SVGPicture.number(radius))\" "
      + "fill=\"\(color)\" stroke=\"#ffffff\" stroke-width=\"0.8\"" + SVGPicture.end("circle", tooltip)
  }

  /// A cross at the edge, for a point outside.
  mutating func cross(x: Double, y: Double, color: String, tooltip: String = "") {
    body +=
      "<path d=\"M\(SVGPicture.pair((x - 5, y - 5)))l10 10m0 -10l-10 10\" fill=\"none\" stroke=\"\(color)\" "
      + "stroke-width=\"2.5\"" + SVGPicture.end("path", tooltip)
  }

  /// A number in a circle.
  mutating func badge(_ number: Int, x: Double, y: Double) {
    circle(x: x, y: y, radius: 10, color: "#111111")
    body +=
      "<text x=\"\(SVGPicture.number(x))\" y=\"\(SVGPicture.number(y + 4.5))\" font-size=\"13\" fill=\"#ffffff\" "
      + "font-weight=\"bold\" text-anchor=\"middle\">\(number)</text>\n"
  }

  /// - Parameters:
  ///   - isEndAnchored: whether the coordinates are those of the end of the text.
  ///   - hasHalo: whether to draw a halo, for legibility above lines.
  mutating func text(
    _ text: String, x: Double, y: Double, size: Double, color: String = "#111111", isBold: Bool = false,
    isEndAnchored: Bool = false, hasHalo: Bool = false
  ) {
    body +=
      "<text x=\"\(SVGPicture.number(x))\" y=\"\(SVGPicture.number(y))\" font-size=\"\(SVGPicture.number(size))\" "
      + "fill=\"\(color)\"\(isBold ? " font-weight=\"bold\"" : "")\(isEndAnchored ? " text-anchor=\"end\"" : "")"
      + (hasHalo ? " stroke=\"#f8fafc\" stroke-width=\"3\" paint-order=\"stroke\"" : "")
      + ">\(SVGPicture.escaped(text))</text>\n"
  }

  private static func thinned(_ points: [(Double, Double)]) -> [(Double, Double)] {
    var result: [(Double, Double)] = []
    for (index, point) in points.enumerated() {
      if let last = result.last, index < points.count - 1, abs(point.0 - last.0) < 0.4, abs(point.1 - last.1) < 0.4 {
        continue
      }
      result.append(point)
    }
    return result
  }

  private static func end(_ element: String, _ tooltip: String) -> String {
    tooltip.isEmpty ? "/>\n" : "><title>\(escaped(tooltip))</title></\(element)>\n"
  }

  private static func pair(_ point: (Double, Double)) -> String { "\(number(point.0)),\(number(point.1))" }

  private static func number(_ value: Double) -> String {
    let text = Decimals.text(value, 1)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  /// Escaped for the content of an element; characters that XML does not allow become question marks.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: escaped += "?"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
