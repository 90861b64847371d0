// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What the next start must know about settings that need a confirmation, as text in the state directory.
enum ConfirmationRecord: Equatable, Sendable {
  /// Settings wait for their confirmation.
  case waiting(SettingsConfirmation.Waiting)
  /// The settings with these digests were reverted, and are not used until they change; `why` is a sentence.
  case reverted(all: String, credentials: String, why: String)

  private static let title = "fleet-locationd confirmation 1"
  private static let maxSeconds: Int64 = 100 * 86_400

  var text: String {
    let lines =
      switch self {
      case .waiting(let waiting):
        "waiting \(waiting.all) \(waiting.limit.wholeSeconds) \(waiting.elapsed.wholeSeconds) "
          + "\(waiting.previousAvailability.fix ? 1 : 0) \(waiting.previousAvailability.token ? 1 : 0)"
      case .reverted(let all, let credentials, let why):
        "taken-back \(all) \(credentials)\n\(why.split(whereSeparator: \.isNewline).joined(separator: " "))"
      }
    return "\(ConfirmationRecord.title)\n\(lines)\nend\n"
  }

  /// - Returns: nil if the text is not a record, or is truncated.
  init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count > 3, lines[0] == ConfirmationRecord.title, lines[lines.count - 2] == "end" else { return nil }
    let words = lines[1].split(separator: " ")
    switch (words.first, words.count, lines.count) {
    case ("waiting", 6, 4):
      let numbers = words[2...].compactMap { Int64($0) }
      guard numbers.count == 4, numbers.allSatisfy({ (0...ConfirmationRecord.maxSeconds).contains($0) }) else {
        return nil
      }
      self = .waiting(
        SettingsConfirmation.Waiting(
          all: String(words[1]), limit: .seconds(numbers[0]), elapsed: .seconds(numbers[1]),
          previousAvailability: SettingsConfirmation.Availability(fix: numbers[2] == 1, token: numbers[3] == 1)))
    case ("taken-back", 3, 5):
      self = .reverted(all: String(words[1]), credentials: String(words[2]), why: String(lines[2]))
    default: return nil
    }
  }

  /// Why these settings were reverted; nil if they were not.
  func rejection(of parts: SettingsParts) -> String? {
    guard case .reverted(parts.all, parts.credentials, let why) = self else { return nil }
    return why
  }
}
