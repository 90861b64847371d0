// SPDX-License-Identifier: Apache-2.0
import Foundation
import NMEA
import Positioning
import RecordingReview
import Testing
import Timekeeping

/// A recorded drive on a real road. `Drives/README.md` has the origin of each.
enum RoadDrive: String, CaseIterable {
  case boston, dotnet2, morten, splosch
  case geniviMunich = "genivi-munich"
  case geniviSwiss = "genivi-swiss"
  case mountainView = "mtv-f9k"

  /// The true position at a time, from a more accurate instrument.
  struct Truth {
    var time: Timestamp
    var coordinate: Coordinate
  }

  /// The build date for the filter. Only morten is older: its date is corrected as if it were a week rollover.
  static let buildDate = Timestamp(seconds: 1_230_768_000)

  /// The bytes of the recording.
  func recording() throws -> [UInt8] { try RoadDrive.unpacked("\(rawValue).nmea.gz") }

  /// The fixes of the recording, with the live filter's decision on each fix at its own time.
  func review() throws -> RecordingReview {
    var decoder = NMEADecoder()
    var fixes: [Fix] = []
    decoder.decode(try recording(), at: .boot) { fixes.append($0) }
    decoder.finish { fixes.append($0) }
    return RecordingReview(fixes, limits: FixFilter.Configuration(buildDate: RoadDrive.buildDate))
  }

  /// The true positions in order of time; empty without ground truth.
  func truth() throws -> [Truth] {
    guard self == .mountainView else { return [] }
    let text = String(decoding: try RoadDrive.unpacked("\(rawValue).truth.csv.gz"), as: UTF8.self)
    return text.split(separator: "\n").compactMap { line in
      let numbers = line.split(separator: ",").compactMap { Double($0) }
      guard numbers.count >= 3, let coordinate = Coordinate(latitude: numbers[1], longitude: numbers[2]) else {
        return nil
      }
      return Truth(time: Timestamp(milliseconds: Int64(numbers[0] * 1000)), coordinate: coordinate)
    }
  }

  private static func unpacked(_ name: String) throws -> [UInt8] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Drives/\(name)")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/gzip")
    process.arguments = ["-dc", file.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "gzip -dc \(file.path)")
    return Array(bytes)
  }
}
