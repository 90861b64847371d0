// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import JSON
import Observability
import Timekeeping

/// What `fleet-locationctl monitor` prints.
enum MonitorLine {
  /// The readable line for a message of the daemon; nil if the message is unknown: the daemon is of a later release.
  static func text(_ parameters: [String: JSONValue]) -> String? {
    if let event: MonitorItem.Event = decode(parameters["event"]) {
      let level = ["error", "warning"].contains(event.level) ? "\(event.level): " : ""
      return StyledText.sanitized(level + event.sentence)
    }
    if let update: MonitorItem.Update = decode(parameters["update"]) { return StyledText.sanitized(text(update)) }
    if let position: VehiclePosition = decode(parameters["position"]) { return StyledText.sanitized(text(position)) }
    let state: MonitorItem.State? = decode(parameters["state"])
    return state.map { StyledText.sanitized("state: \($0.summary)") }
  }

  private static func decode<Item: Decodable>(_ value: JSONValue?) -> Item? {
    try? value?.decode()
  }

  /// Seven decimals of a degree are a resolution of about a centimetre.
  private static func text(_ position: VehiclePosition) -> String {
    var parts = ["\(decimal(position.latitude, 7)), \(decimal(position.longitude, 7))"]
    if let accuracy = position.accuracy { parts.append("±\(decimal(accuracy, 1)) m") }
    if let speed = position.speed { parts.append("\(decimal(speed, 1)) m/s") }
    if let course = position.course { parts.append("\(decimal(course, 0))°") }
    return "\(parts.joined(separator: "  "))  at \(position.time)"
  }

  private static func decimal(_ value: Double, _ decimals: Int) -> String {
    var writer = JSONWriter()
    writer.number(value, decimals: decimals)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private static func text(_ update: MonitorItem.Update) -> String {
    let time = "\(update.milliseconds) ms"
    guard update.result != "accepted" else {
      return "update accepted after \(time)" + (update.past > 0 ? ", with \(update.past.counted("past position"))" : "")
    }
    let message = update.message.map { ": \($0)" } ?? ""
    let retry = update.retryIn.map { "; next attempt \($0 == 0 ? "now" : "in \(Duration.seconds($0).humanReadable)")" }
    return "update failed (\(update.result)) after \(time)\(message)\(retry ?? "")"
  }
}
