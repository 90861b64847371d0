// SPDX-License-Identifier: Apache-2.0

/// A recording.
package struct ReplaySettings: Equatable, Sendable {
  enum TimeMode: String, CaseIterable, Sendable {
    /// The recording starts now.
    case shift
    /// The recording's own times are kept.
    case keep
  }

  /// Path of a file or FIFO; `-` is standard input.
  package var file = ""
  /// 1 is the recording's own speed, 2 twice as fast, 0 as fast as the positions are delivered.
  package var pace = 1.0
  /// The setting; nil if it is not set: its default then depends on `pace`.
  var time: TimeMode?

  /// Whether the recording starts now; otherwise its own times are kept.
  package var shiftsTimes: Bool { time.map { $0 == .shift } ?? (pace > 0) }

  /// Whether its times follow elapsed time.
  var followsElapsedTime: Bool { shiftsTimes && pace > 0 }
}

extension ReplaySettings: SourceSettings {
  static let type = "replay"

  static let keys: [Setting<ReplaySettings>] = [
    Setting(
      "file", \.file, .inputFile, isRequired: true,
      "The recording (NMEA 0183), a file or FIFO; `\"-\"` is standard input."),
    Setting(
      "pace", \.pace, .number(0...1000),
      "Playback speed: 1 is real time, 2 is twice as fast, 0 is as fast as positions are delivered. With shifted times, speeds are reported multiplied by it, as the positions then imply; `filter.max_speed` limits the recorded speed."
    ),
    Setting(
      "time", \.time, .choice,
      "`shift`: the recording's times are shifted so that it starts now, and follow `pace`; with `pace = 0` they keep their intervals and run ahead of the clock, which Fleet Engine does not expect. `keep`: they are unchanged. Default: `\"keep\"` with `pace = 0`, otherwise `\"shift\"`."
    ),
  ]

  var kind: SourceKind { .replay(self) }
  var name: String { file == "-" ? "standard input" : file }
  var drivePace: Double { followsElapsedTime ? pace : 1 }

  func finish(_ reader: inout SettingsReader) {
    guard file != "-", reader.isValid(\ReplaySettings.file) else { return }
    switch reader.problem(ofFile: file) {
    case .missing:
      reader.warning(
        about: \ReplaySettings.file,
        "\(file.printable) does not exist; until it does, the service fails at each start, and is started again")
    case .directory: reader.problem(with: \ReplaySettings.file, "\(file.printable) is a directory; name a file")
    default: break
    }
  }

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {
    if pace == 0 {
      reader.problem(
        with: \ReplaySettings.pace,
        "is 0, as fast as positions are delivered, which is for a recording that is the only source; allowed: more than 0"
      )
    } else if !shiftsTimes {
      reader.problem(
        with: \ReplaySettings.time,
        "\"keep\" is for a recording that is the only source: its times do not match those of the others; "
          + "allowed: \"shift\"")
    }
    if file == "-", others.contains(where: { if case .replay(let other) = $0 { other.file == "-" } else { false } }) {
      reader.problem(with: \ReplaySettings.file, "is standard input, which another source reads")
    }
  }
}
