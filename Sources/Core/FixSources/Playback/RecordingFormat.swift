// SPDX-License-Identifier: Apache-2.0

/// The format of a file that was given as a recording but contains no NMEA 0183, judged by its first bytes.
package enum RecordingFormat: Equatable, Sendable {
  case empty
  case gzip
  case zip
  /// GPX or KML.
  case xml
  /// Such as gpsd's reports.
  case json

  /// - Parameter bytes: the first bytes of the file; empty for an empty file.
  /// - Returns: nil if they do not show the format.
  package init?(firstBytes bytes: some Sequence<UInt8>) {
    let start = Array(bytes.prefix(2))
    switch (start.first, start.last) {
    case (nil, _): self = .empty
    case (0x1F, 0x8B): self = .gzip
    case (UInt8(ascii: "P"), UInt8(ascii: "K")): self = .zip
    case (UInt8(ascii: "<"), _): self = .xml
    case (UInt8(ascii: "{"), _): self = .json
    default: return nil
    }
  }

  /// As in "it …".
  package var predicate: String {
    switch self {
    case .empty: "is empty"
    case .gzip, .zip: "is compressed"
    case .xml: "is XML, such as a GPX track, and not NMEA 0183"
    case .json: "is JSON, and not NMEA 0183"
    }
  }

  /// What to do, without a full stop.
  package var advice: String {
    switch self {
    case .empty: "check how it was recorded, and whether the disk was full"
    case .gzip: "uncompress it: gunzip FILE"
    case .zip: "uncompress it: unzip FILE"
    case .xml: "drive along a GPX track with source.type = \"simulated\" and route = \"FILE\""
    case .json: "record NMEA 0183: from gpsd with gpspipe -r"
    }
  }
}
