// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Testing

@testable import FleetEngineEmulator

/// The event stream of the emulator as a process, with curl as the browser.
struct EventStreamTests {
  /// A page that receives the stream.
  private final class Watcher {
    private let process: Process
    private let output: Pipe
    private var bytes = Data()
    var text: String { String(decoding: bytes, as: UTF8.self) }

    init(_ url: String) throws {
      (process, output, _) = try EmulatorProcess.start(
        "/usr/bin/curl", ["--silent", "--no-buffer", "--max-time", "60", "\(url)/map/events"])
    }

    deinit { process.terminate() }

    /// Reads until `expected` has arrived. Returns false if the stream ends before that.
    func reads(_ expected: String) -> Bool {
      let expected = Data(expected.utf8)
      var searched = 0
      while bytes.range(of: expected, in: searched..<bytes.count) == nil {
        searched = max(0, bytes.count - expected.count)
        let more = output.fileHandleForReading.availableData
        if more.isEmpty { return false }
        bytes.append(more)
      }
      return true
    }

    /// The data of all events with this name so far.
    func data(_ name: String) throws -> [JSON] {
      try text.components(separatedBy: "\n\n").compactMap { event in
        guard event.contains("event: \(name)\n"), let data = event.components(separatedBy: "data: ").last else {
          return nil
        }
        return try JSONParser.parse(Array(data.utf8))
      }
    }

    func stop() { kill(process.processIdentifier, SIGSTOP) }

    /// Continues after `stop`, and reads the rest.
    /// - Returns: the exit status of curl.
    func resume() -> Int32 {
      kill(process.processIdentifier, SIGCONT)
      _ = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private func post(_ url: String, _ body: String) throws -> EmulatorProcess.Result {
    try EmulatorProcess.curl("--header", "Content-Type: application/json", "--data", body, url)
  }

  @Test("two pages receive the initial state, then each event as it happens, and the end of a timed fault")
  func eventsOfTwoPages() throws {
    let result = try EmulatorProcess.with { url in
      let first = try Watcher(url)
      expect(first.reads("event: state\n") && first.text.hasPrefix("retry: 2000\nid: 0\nevent: state\ndata: {"))
      let answer = try EmulatorProcess.curl("\(url)/token/delivery_driver/truck-17").output
      let token = try #require(try JSONParser.parse(Array(answer.utf8))["token"]?.string)
      let update = [
        "--silent", "--request", "PATCH", "--header", "Authorization: Bearer \(token)",
        "--header", "Content-Type: application/json",
        "--data", #"{"lastLocation":{"location":{"latitude":1,"longitude":2}}}"#,
        "\(url)/v1/providers/p/deliveryVehicles/truck-17?updateMask=lastLocation",
      ]
      _ = try EmulatorProcess.run("/usr/bin/curl", update)
      expect(first.reads("event: update\n"))
      let second = try Watcher(url)
      expect(second.reads("\"track\":[{\"t\":"), "the initial state contains the earlier update")
      let pressed = ContinuousClock.now
      let act = try post("\(url)/map/act", #"{"act":"unavailable","seconds":6}"#).output
      expect(act.contains("\"name\":\"unavailable\""))
      _ = try EmulatorProcess.run("/usr/bin/curl", update)
      for page in [first, second] {
        expect(page.reads("event: refused\n") && page.reads("unavailable, over"), "\(page.text)")
        try expectEqual(page.data("refused").map { $0["status"]?.integer }, [503])
        try expectEqual(page.data("faults").map { $0["faults"]?.array?.count }, [1, 0])
        try expectEqual(page.data("update").count, (page === first ? 1 : 0))
      }
      expect(pressed.duration(to: .now) < .seconds(12), "sent when it happens, and not with the next comment")
      let numbers = first.text.split(separator: "\n").filter { $0.hasPrefix("id: ") }.compactMap {
        Int($0.dropFirst(4))
      }
      expectEqual(numbers, Array(0..<numbers.count), "each event once, in its order")
    }
    expect(result.status == 0 && result.output.contains("map: http://127.0.0.1:"))
    let lines = result.output.split(separator: "\n").map { $0.dropFirst("00:00:00.000 ".count) }
    expect(lines.contains("unavailable for 6 s: status 503") && lines.contains("unavailable, over"))
  }

  @Test("a page that does not read is disconnected, and another page misses nothing")
  func slow() throws {
    _ = try EmulatorProcess.with(["--quiet", "--page-rate", "100000000"]) { url in
      let (asleep, awake) = (try Watcher(url), try Watcher(url))
      expect(asleep.reads("event: state\n") && awake.reads("event: state\n"))
      asleep.stop()
      // Each fault lengthens the list that every page receives; all lists together have three megabytes.
      let posts = Array(repeating: "\(url)/debug/faults", count: 50)
      for round in 1...5 {
        let posted = try EmulatorProcess.run(
          "/usr/bin/curl",
          ["--silent", "--output", "/dev/null", "--max-time", "60", "--data", #"{"target":"update","status":503}"#]
            + posts)
        expect(posted.status == 0 && awake.reads("\"id\":\(round * 50),"))
      }
      expectEqual(awake.text.components(separatedBy: "event: faults\n").count, 251)
      expectEqual(asleep.resume(), 18, "the transfer ended in the middle")
      try expectEqual(EmulatorProcess.curl("\(url)/debug/stats").status, 0)
    }
  }

  @Test("thirty-two pages may be open, another one gets 503, and a page that closes frees its slot")
  func many() throws {
    _ = try EmulatorProcess.with(["--quiet"]) { url in
      // All pages must be open at the same time, however slowly they are opened.
      func statuses(_ count: Int, seconds: Int) throws -> [Substring] {
        let pages = Array(repeating: ["--output", "/dev/null", "\(url)/map/events"], count: count).flatMap { $0 }
        return try EmulatorProcess.run(
          "/usr/bin/curl",
          [
            "--silent", "--no-buffer", "--max-time", "\(seconds)", "--parallel", "--parallel-immediate",
            "--parallel-max", "50",
          ]
            + ["--write-out", "%{http_code}\\n"] + pages
        ).output.split(separator: "\n")
      }
      let all = try statuses(34, seconds: 8)
      expect(all.count { $0 == "200" } == 32 && all.count { $0 == "503" } == 2, "\(all)")
      try expectEqual(statuses(3, seconds: 8), ["200", "200", "200"])
    }
  }

  @Test("a request with the Host or Origin header of another site is rejected, and HEAD works for the event stream")
  func foreign() throws {
    _ = try EmulatorProcess.with(["--quiet"]) { url in
      let status = ["--output", "/dev/null", "--write-out", "%{http_code}"]
      for header in ["Host: evil.example", "Origin: http://evil.example"] {
        for path in ["/", "/map/events", "/debug/stats"] {
          let result = try EmulatorProcess.run(
            "/usr/bin/curl", ["--silent", "--max-time", "5", "--header", header] + status + ["\(url)\(path)"])
          expectEqual(result.output, "403", "\(header) \(path)")
        }
      }
      let head = try EmulatorProcess.curl("--head", "\(url)/map/events")
      expect(head.status == 0 && head.output.contains("text/event-stream"))
    }
  }

  @Test(
    "tiles require a valid URL and an attribution",
    arguments: [
      ["--tiles", "https://a/{z}/{x}/{y}"], ["--attribution", "A"], ["--tiles", "https://a/", "--attribution", "A"],
    ])
  func tiles(_ arguments: [String]) throws {
    try expectEqual(EmulatorProcess.run(try #require(EmulatorProcess.emulator), arguments).status, 2)
  }
}
