// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct PageFeedTests {
  /// A feed of a thousand bytes a second, whose messages are a hundred bytes each.
  private struct Bench {
    var feed = PageFeed(rate: 1000)
    var now = ServerTime(wall: 1_795_251_600_000, steady: 5_000_000)

    mutating func add(_ name: String, _ data: JSON) { feed.add(.init(name: name, data: data), at: now) }

    mutating func move(_ vehicle: String, to latitude: Int, past: [Int] = [], stats: JSON = [:]) {
      add(
        "update",
        [
          "vehicle": .string(vehicle), "position": ["lat": JSON(latitude)],
          "past": .array(past.map { ["lat": JSON($0)] }), "stats": stats,
        ])
    }

    /// The messages that are due, as `name vehicle latitude`.
    mutating func due() -> [String] {
      messages().map { message in
        let latitude = message.data["position"]?["lat"]?.integer.map { " \($0)" } ?? ""
        return message.name + (message.data["vehicle"]?.string.map { " \($0)" } ?? "") + latitude
      }
    }

    mutating func messages() -> [LiveMapState.Message] {
      var messages: [LiveMapState.Message] = []
      while let message = feed.next(at: now) {
        feed.spend(100)
        messages.append(message)
      }
      return messages
    }

    /// Uses up the initial burst.
    mutating func exhaust() {
      for number in 0..<2 { move("early-\(number)", to: 0) }
      _ = due()
    }
  }

  @Test("within the rate each message is due at once, in order")
  func atOnce() {
    var bench = Bench()
    bench.move("a", to: 1)
    bench.add("refused", ["vehicle": "a"])
    expectEqual(bench.due(), ["update a 1", "refused a"])
    bench.now = bench.now.advanced(by: 100)
    bench.move("a", to: 2)
    expectEqual(bench.due(), ["update a 2"])
    expectNil(bench.feed.deadline)
  }

  @Test("beyond the rate the updates of a vehicle are merged, and the vehicle that has waited longest is next")
  func merged() {
    var bench = Bench()
    bench.exhaust()
    bench.move("a", to: 1)
    bench.move("b", to: 1)
    bench.add("refused", ["vehicle": "a", "status": 503])
    bench.move("a", to: 2)
    expectEqual(bench.due(), [])
    expectEqual(bench.feed.deadline, bench.now.steady + 100)
    bench.now = bench.now.advanced(by: 500)
    expectEqual(bench.due(), ["refused a", "update a 2"])
    bench.now = bench.now.advanced(by: 100)
    expectEqual(bench.due(), ["update b 1"])
  }

  @Test(
    "merged updates keep the newest position and the newest 300 past positions")
  func past() throws {
    var bench = Bench()
    bench.exhaust()
    bench.move("a", to: 1, past: Array(0..<200))
    bench.add("update", ["vehicle": "a", "position": .null, "past": .array((200..<400).map { ["lat": JSON($0)] })])
    bench.now = bench.now.advanced(by: 500)
    let update = try #require(bench.messages().first).data
    expectEqual(update["position"]?["lat"]?.integer, 1)
    expectEqual(update["past"]?.array?.compactMap { $0["lat"]?.integer }, Array(100..<400))
  }

  @Test("a fleet's updates exceed the rate by at most a burst of a fifth of a second, and each vehicle has its turn")
  func rate() {
    var bench = Bench()
    var sent: [Int64] = []
    var turns: [String: Int] = [:]
    for step in 0..<1000 {
      for number in 0..<20 { bench.move("v\(number)", to: step) }
      for line in bench.due() {
        sent.append(bench.now.steady)
        turns[line.split(separator: " ").map(String.init)[1], default: 0] += 1
        expect(line.hasSuffix(" \(step)"), "the newest position")
      }
      bench.now = bench.now.advanced(by: 20)
    }
    for start in sent { expect(sent.count { (start..<start + 1000).contains($0) } * 100 <= 1300) }
    expect((195...210).contains(sent.count), "\(sent.count) in 20 s at ten a second")
    expect(turns.count == 20 && turns.values.allSatisfy { $0 >= 9 }, "\(turns)")
  }

  @Test(
    "however long a round of the server takes, a page gets at most one and a half times the rate in any second",
    arguments: [20, 100, 150, 200, 250, 400] as [Int64])
  func slowRounds(_ round: Int64) {
    var bench = Bench()
    var written: [Int64] = []
    for step in 0..<200 {
      // After each 20 rounds nothing happens for two seconds.
      if step % 20 == 0 { bench.now = bench.now.advanced(by: 2000) }
      for number in 0..<20 { bench.move("v\(number)", to: step) }
      let count = bench.due().count
      bench.now = bench.now.advanced(by: round)
      // In every third round the stream is the first that is served, and not the last.
      written += Array(repeating: bench.now.steady - (step % 3 == 1 ? round : 0), count: count)
    }
    for start in written { expect(written.count { (start...start + 1000).contains($0) } * 100 <= 1500) }
  }

  @Test(
    "faults and the newest fifty log lines have priority; lines about accepted updates are limited to 20 a second")
  func lines() {
    var bench = Bench()
    bench.exhaust()
    bench.move("a", to: 1)
    for number in 0..<60 { bench.add("log", ["vehicle": "a", "kind": "info", "text": .string("\(number)")]) }
    bench.add("faults", ["faults": [1]])
    bench.add("faults", ["faults": []])
    bench.now = bench.now.advanced(by: 10_000)
    var first = bench.messages()
    bench.now = bench.now.advanced(by: 10_000)
    first += bench.messages()
    expect(first.map(\.name) == ["faults", "log", "log", "log"] && first[0].data["faults"]?.array == [])
    expectEqual(first[1].data["text"]?.string, "10")
    bench.feed.dropPending()
    for number in 0..<40 { bench.add("log", ["kind": "accepted", "text": .string("\(number)")]) }
    var texts: [String?] = []
    for _ in 0..<12 {
      bench.now = bench.now.advanced(by: 500)
      texts += bench.messages().map { $0.data["text"]?.string }
    }
    expectEqual(texts, (0..<20).map { "\($0)" })
  }

  @Test("statistics are sent only when they change, and all of them again when a page is opened")
  func figures() {
    var bench = Bench()
    func stats(_ bench: inout Bench) -> String? {
      bench.now = bench.now.advanced(by: 100)
      return bench.messages().last?.data["stats"]?.text
    }
    bench.move("a", to: 1, stats: ["accepted": 1, "refused": 0, "state": .null])
    expectEqual(stats(&bench), #"{"accepted":1,"refused":0,"state":null}"#)
    bench.move("a", to: 2, stats: ["accepted": 2, "refused": 0, "state": "ONLINE"])
    expectEqual(stats(&bench), #"{"accepted":2,"state":"ONLINE"}"#)
    bench.move("a", to: 3, stats: ["accepted": 2, "refused": 0, "state": .null])
    expectEqual(stats(&bench), #"{"state":null}"#)
    bench.feed.pageOpened()
    bench.move("a", to: 4, stats: ["accepted": 3, "refused": 0])
    expectEqual(stats(&bench), #"{"accepted":3,"refused":0}"#)
  }

  @Test("messages are dropped while no page is open")
  func unwatched() {
    var bench = Bench()
    bench.exhaust()
    bench.move("a", to: 1)
    bench.add("faults", ["faults": []])
    bench.feed.dropPending()
    bench.now = bench.now.advanced(by: 10_000)
    expect(bench.due() == [] && bench.feed.deadline == nil)
  }
}
