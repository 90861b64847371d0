// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Positioning

/// Describes the quality of a fix, without coordinates.
enum FixText {
  static func quality(_ fix: Fix) -> String {
    var words = [fix.mode == .threeD ? "3D" : "2D", fix.quality.rawValue]
    if let satellites = fix.satellites { words.append(satellites.counted("satellite")) }
    if let hdop = fix.hdop, hdop < 1000 {
      let tenths = Int((hdop * 10).rounded())
      words.append("HDOP \(tenths / 10).\(tenths % 10)")
    }
    if let accuracy = fix.horizontalAccuracy { words.append("±\(Int(min(accuracy, 9999).rounded(.up))) m") }
    return words.joined(separator: ", ")
  }

  /// Such as `, 3 satellites in view`; empty when the receiver does not report it.
  static func inView(_ count: Int?) -> String {
    count.map { ", \($0.counted("satellite")) in view" } ?? ""
  }
}
