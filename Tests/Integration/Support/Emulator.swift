// SPDX-License-Identifier: Apache-2.0
import FileTesting
import Foundation
import Glibc

/// A Fleet Engine and token provider for one test.
final class Emulator {
  /// One position of an update, as sent.
  struct Position: Hashable {
    let latitude: Double
    let longitude: Double
    let time: Date

    init?(_ json: Any?) {
      guard let json = json as? [String: Any],
        let point = (json["supplementalLocation"] ?? json["location"]) as? [String: Any],
        let time = (json["supplementalLocationTime"] ?? json["updateTime"]) as? String,
        let time = Emulator.date(time)
      else { return nil }
      latitude = point["latitude"] as? Double ?? 0
      longitude = point["longitude"] as? Double ?? 0
      self.time = time
    }
  }

  struct Update {
    let isAccepted: Bool
    let status: Int
    let path: String
    let query: String
    /// The state of a vehicle of on-demand trips, such as `ONLINE`.
    let state: String?
    let live: Position?
    let past: [Position]
    let timeSinceUpdate: Int?
  }

  let port: UInt16
  private let process: ChildProcess
  private let record: String
  private var recordOffset: UInt64 = 0
  private var parsed: [Update] = []

  init(in directory: TemporaryDirectory, port: UInt16 = 0, options: [String] = []) throws {
    let ready = directory("emulator-ready")
    record = directory("updates.jsonl")
    unlink(ready)
    process = try ChildProcess(
      "fleet-engine-emulator",
      ["--port", "\(port)", "--ready-file", ready, "--record", record] + options)
    var url = ""
    try wait(for: "the emulator listens", within: .seconds(20), reading: process.sources) { [process] in
      if process.hasEnded { throw TestFailure("the emulator ended: \(process.errors.text)") }
      url = (try? String(contentsOfFile: ready, encoding: .utf8)) ?? ""
      return url.hasSuffix("\n")
    }
    guard let port = URL(string: String(url.dropLast()))?.port else { throw TestFailure("no port in \(url)") }
    self.port = UInt16(port)
  }

  var sources: [any Readable] { process.sources }
  var lines: [String] { process.output.lines }

  /// All requests for updates so far.
  var updates: [Update] {
    guard let file = FileHandle(forReadingAtPath: record) else { return parsed }
    try? file.seek(toOffset: recordOffset)
    let data = (try? file.readToEnd()) ?? nil
    guard let data, let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return parsed }
    for line in data[..<end].split(separator: UInt8(ascii: "\n")) {
      guard let update = Emulator.update(line) else { continue }
      parsed.append(update)
    }
    recordOffset += UInt64(end - data.startIndex + 1)
    return parsed
  }

  var accepted: [Update] { updates.filter(\.isAccepted) }

  /// Injects a fault; see the emulator's `--help`.
  func fault(_ json: String) throws {
    _ = try Loopback.request("POST", "/debug/faults", port: port, body: json)
  }

  func clearFaults() throws {
    _ = try Loopback.request("DELETE", "/debug/faults", port: port)
  }

  func stats() throws -> [String: Any] {
    let text = try Loopback.request("GET", "/debug/stats", port: port)
    return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }

  /// Waits until all requests that were sent before this call have been handled: those that arrive together are handled
  /// in any order, but before any later one.
  func settle() throws {
    for _ in 0..<2 { _ = try stats() }
  }

  func stop() throws {
    process.signal(SIGTERM)
    try process.finish()
  }

  /// RFC 3339 in UTC, with or without decimals.
  private static func date(_ text: String) -> Date? {
    let parts = text.dropLast().split(separator: ".")
    guard let whole = parts.first, let seconds = try? Date("\(whole)Z", strategy: .iso8601) else { return nil }
    return seconds + (parts.count > 1 ? Double("0.\(parts[1])") ?? 0 : 0)
  }

  private static func update(_ line: Data) -> Update? {
    guard let json = try? JSONSerialization.jsonObject(with: line) as? [String: Any],
      let text = json["body"] as? String
    else { return nil }
    let body = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    let last = body?["lastLocation"] as? [String: Any]
    return Update(
      isAccepted: json["accepted"] as? Bool ?? false, status: json["status"] as? Int ?? 0,
      path: json["path"] as? String ?? "", query: json["query"] as? String ?? "",
      state: body?["vehicleState"] as? String, live: Position(last),
      past: (body?["pastLocations"] as? [Any] ?? []).compactMap(Position.init),
      timeSinceUpdate: last?["timeSinceUpdate"] as? Int)
  }
}
