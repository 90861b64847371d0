// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import JSON

/// Masks secrets and coordinates in what a report for support contains.
struct Redaction {
  /// What is written in place of a coordinate.
  static let coordinatePlaceholder = "<position>"
  private static let secretPlaceholder = "<redacted>"
  /// Directives whose value is a name and a path, which look like a name and its secret.
  private static let pathDirectives = ["LoadCredential", "LoadCredentialEncrypted"]
  /// Directives whose value may be a secret.
  private static let secretDirectives = ["Environment", "SetCredential", "SetCredentialEncrypted"]

  /// The names of provider and vehicle, which are never masked.
  let names: [String]
  /// Whether coordinates are kept.
  let keepsPositions: Bool

  /// Text with lines, such as an error message. What looks like a secret, or like the pieces of one, is masked.
  func text(_ text: String) -> String { lines(of: text) { line($0[...]) } }

  /// The output of journalctl: the part before the message of a line, such as `2026-11-21T08:30:00+0000 box
  /// daemon[120]`, was written by journald, and is not masked.
  func journal(_ text: String) -> String {
    lines(of: text) { entry in
      // No colon of the time is followed by a space.
      let end = zip(entry.indices, entry.indices.dropFirst()).first { entry[$0] == ":" && entry[$1] == " " }
      guard let end else { return line(entry[...]) }
      return entry[...end.1] + line(entry[end.1...].dropFirst())
    }
  }

  /// The files of a unit: all values that may be secret are masked, whatever they look like.
  func unit(_ text: String) -> String {
    // A backslash at the end of a line continues the value; comments in between do not end it (systemd.syntax(7)).
    var secretContinues = false
    return lines(of: text) { written in
      let isContinuation = secretContinues
      let key = written.prefix { $0 != "=" }.filter { $0 != " " && $0 != "\t" }
      let isSecret = isContinuation || Redaction.secretDirectives.contains(key)
      let isComment = written.first { $0 != " " && $0 != "\t" }.map { $0 == "#" || $0 == ";" } ?? false
      secretContinues = isSecret && written.hasSuffix("\\") || isContinuation && isComment
      if Redaction.pathDirectives.contains(key) { return maskingPositions(in: written) }
      guard isSecret, !written.isEmpty else { return line(written[...]) }
      return (isContinuation ? "" : key + "=") + Redaction.secretPlaceholder
    }
  }

  /// Text in which the program that wrote it has masked all secrets.
  func maskingPositions(in text: String) -> String { keepsPositions ? text : withoutPositions(text) }

  /// A JSON document; unless coordinates are kept, without the shape of the track and coordinates in its strings.
  ///
  /// - Returns: nil if it is not JSON.
  func document(_ bytes: [UInt8]) -> [UInt8]? {
    guard let document = try? JSONValue(parsing: bytes) else { return nil }
    guard !keepsPositions, case .object(var members) = document else { return document.encoded }
    members["track"] = nil
    return withoutPositions(.object(members)).encoded
  }

  private func line(_ text: Substring) -> String {
    maskingPositions(in: ExternalText(text, limit: 2048, showing: names).description)
  }

  private func lines(of text: String, _ masked: (String) -> String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { masked(String($0)) }.joined(separator: "\n")
  }

  // MARK: - Coordinates

  private func withoutPositions(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(withoutPositions(text))
    case .array(let values): .array(values.map(withoutPositions))
    case .object(let members): .object(members.mapValues(withoutPositions))
    default: value
    }
  }

  private func withoutPositions(_ text: String) -> String {
    CoordinateMask.masked(text, with: Redaction.coordinatePlaceholder, showing: names)
  }
}
