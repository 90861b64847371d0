// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import PositionBacklog

/// How past positions are batched, and how rejected ones are isolated.
struct BackfillTests {
  /// A backlog, and a server with configurable rejections.
  struct Bench {
    var backlog = Backlog()
    var backfill: Backfill
    var token: AccessToken
    /// The server's response to past positions of these seconds; nil: accepted.
    var answer: ([Int64]) -> UpdateFailure.Category? = { _ in nil }
    /// The current time: each request takes ten seconds.
    var now = BootInstant.boot
    /// The last accepted live position. Live positions have times from 200,000 s on.
    var live: VehicleLocation?
    /// Whether `live` may be sent again, as a control: it is older than the next live position.
    var hasControl = true
    var delivered: [Int64] = []
    var refused: [Int64] = []
    /// The number of requests that were rejected for their contents.
    var refusals = 0
    /// The number of past positions in each request.
    var sizes: [Int] = []

    init(_ count: Int64, limit: Int = 100) throws {
      backfill = Backfill(
        limit: limit,
        endpoint: FleetEngineEndpoint(
          origin: "https://e.test",
          vehicle: FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "v")))
      token = try BackfillTests.token(1)
      for second in 0..<count { try add(second) }
    }

    mutating func add(_ second: Int64) throws {
      let coordinate = try #require(Coordinate(latitude: 48, longitude: 11))
      _ = backlog.append(
        VehicleLocation(coordinate: coordinate, time: Timestamp(seconds: second)), limit: .max)
    }

    var sendable: ArraySlice<Backlog.Record> {
      backlog.sendable(before: Timestamp(seconds: 100_000), maxAge: .seconds(200_000))
    }

    private func nextLive() throws -> VehicleLocation {
      let coordinate = try #require(Coordinate(latitude: 48, longitude: 11))
      return VehicleLocation(coordinate: coordinate, time: Timestamp(seconds: 200_000) + (now - .boot))
    }

    /// Sends one request, which fails with `trouble` unless that is nil.
    /// - Returns: whether it was accepted.
    mutating func request(_ trouble: UpdateFailure.Category? = nil) -> Bool {
      now = now + .seconds(10)
      let records = backfill.select(from: sendable, delivered: hasControl ? live : nil, with: token, at: now)
      let ids = records.map(\.id)
      let seconds = ids.map { $0.milliseconds / 1000 }
      sizes.append(ids.count)
      if let failure = trouble ?? (ids.isEmpty ? nil : answer(seconds)) {
        if trouble == nil { refusals += 1 }
        // A network that fails usually has no connection.
        _ = backfill.failed(ids, failure.row.pastPositions, wasSent: trouble != .network, with: token)
        return false
      }
      live = try? nextLive()
      guard !ids.isEmpty else {
        _ = backfill.acceptedWithoutPast(at: now)
        return true
      }
      if !backfill.isControlSelected { delivered += seconds }
      let dropped = backfill.accepted(ids)
      refused += dropped.map { $0.milliseconds / 1000 }
      _ = backlog.remove(ids, .delivered) + backlog.remove(dropped, .rejected)
      return true
    }

    /// Continues until everything is delivered or rejected, or for this number of requests.
    mutating func drain(_ most: Int = 2000) {
      for _ in 0..<most where !backlog.isEmpty { _ = request() }
    }
  }

  static func token(_ serial: Int) throws -> AccessToken {
    AccessToken(
      secret: Secret("t\(serial)"),
      context: try #require(AuthorizationContext(providerID: "p", scope: .deliveryVehicle("v"))), receivedAt: .boot,
      lifetime: .seconds(3600), lifetimeSource: .relative)
  }

  @Test("without a rejection, full batches are sent, oldest first")
  func plain() throws {
    var bench = try Bench(250)
    bench.drain()
    expectEqual(bench.sizes, [100, 100, 50])
    expectEqual(bench.delivered, Array(0..<250))
  }

  @Test(
    "one bad record among n costs at most log2 n + 4 rejections, and no other record is lost",
    arguments: [1, 2, 3, 7, 50, 64, 99, 100])
  func onePoison(size: Int) throws {
    for poison in 0..<Int64(size) {
      var bench = try Bench(Int64(size) + 300, limit: size)
      // The server accepts some records before these.
      for second in -5..<0 as Range<Int64> { try bench.add(second) }
      bench.answer = { $0.contains(poison) ? .rejected : nil }
      bench.drain()
      expectEqual(bench.refused, [poison])
      expectEqual(bench.delivered.sorted(), Array(-5..<(Int64(size) + 300)).filter { $0 != poison })
      expect(bench.refusals <= (size.bitWidth - (size - 1).leadingZeroBitCount) + 4, "poison \(poison)")
    }
  }

  @Test("a rejection never delays the live position by more than one request")
  func alone() throws {
    var bench = try Bench(400)
    bench.answer = { $0.contains { $0 % 17 == 3 } ? .rejected : nil }
    var wasRefused = false
    for _ in 0..<2000 where !bench.backlog.isEmpty {
      let isAccepted = bench.request()
      expect(isAccepted || !wasRefused)
      wasRefused = !isAccepted
    }
    expect(bench.backlog.isEmpty)
  }

  @Test("several bad records are each isolated, whatever the network does in between", arguments: 1...20)
  func severalPoisons(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let poisons = Set(
      (0..<Int.random(in: 2...12, using: &random)).map { _ in Int64.random(in: 0..<600, using: &random) })
    var bench = try Bench(600)
    bench.answer = { $0.contains(where: poisons.contains) ? .rejected : nil }
    for _ in 0..<4000 where !bench.backlog.isEmpty {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: _ = bench.request(.network)
      case 1: _ = bench.request(.unavailable)
      case 2: _ = bench.request(.throttled)
      default: _ = bench.request()
      }
    }
    expectEqual(Set(bench.refused), poisons)
    expect(bench.backlog.isEmpty)
    expectEqual(Set(bench.delivered), Set(0..<600).subtracting(poisons))
    // At most seven rejections to bisect a hundred records, and four more.
    expect(bench.refusals <= poisons.count * 11)
  }

  @Test("twenty consecutive bad records are removed one by one, and nothing else is lost")
  func rowOfPoisons() throws {
    var bench = try Bench(300)
    bench.answer = { $0.contains { (40..<60).contains($0) } ? .rejected : nil }
    bench.drain()
    expectEqual(bench.refused.sorted(), Array(40..<60))
    expectEqual(bench.delivered.count, 280)
    expect(bench.refusals <= 9 + 20 * 7)
  }

  @Test(
    "an undocumented limit on the number of past positions is detected and respected, and no position is lost",
    arguments: [1, 3, 20, 60, 99])
  func unknownLimit(limit: Int) throws {
    var bench = try Bench(1440)
    bench.answer = { $0.count > limit ? .rejected : nil }
    bench.drain(8000)
    expect(bench.backlog.isEmpty)
    expect(bench.refused.isEmpty)
    // The limit is searched for twice, and then known.
    expect(bench.refusals <= 20)
    expect(bench.sizes.suffix(10).allSatisfy { $0 <= limit })
  }

  @Test(
    "if a server rejects every past position, none is dropped, and the server is probed less and less often",
    arguments: [1, 2, 300])
  func allRefused(count: Int64) throws {
    var bench = try Bench(count)
    bench.answer = { _ in .rejected }
    // A day of requests.
    for _ in 0..<8640 { _ = bench.request() }
    expect(bench.refused.isEmpty)
    expectEqual(bench.backlog.count, Int(count))
    expect(bench.refusals <= 150, "\(bench.refusals)")
    bench.answer = { _ in nil }
    let before = bench.sizes.count
    bench.drain()
    expectEqual(bench.delivered.count, Int(count))
    expect(bench.sizes.count - before < 220)
  }

  @Test(
    "a 403 suspends past positions for two minutes, doubling each time; a new token resumes them at once"
  )
  func denied() throws {
    var bench = try Bench(300)
    bench.answer = { _ in .permissionDenied }
    for _ in 0..<100 { _ = bench.request() }
    // The rejections are after 10, 140, 390 and 880 s.
    expectEqual(bench.refusals, 4)
    expectEqual(bench.backfill.suspendedUntil(with: bench.token, at: bench.now), .boot + .seconds(1850))
    expect(bench.backfill.suspendedUntil(with: nil, at: bench.now) != nil)
    bench.token = try BackfillTests.token(2)
    expectNil(bench.backfill.suspendedUntil(with: bench.token, at: bench.now))
    expectEqual(bench.backlog.count, 300)
    bench.answer = { _ in nil }
    bench.drain()
    expectEqual(bench.delivered.count, 300)
  }

  @Test("if a request without past positions is denied too, the next requests have none until one is accepted")
  func tokenDenied() throws {
    var bench = try Bench(300)
    for _ in 0..<5 { expect(!bench.request(.permissionDenied)) }
    expectEqual(bench.sizes, [100, 0, 0, 0, 0])
    // A network that fails says nothing about the token.
    expect(!bench.request(.network))
    expect(bench.request())
    expectNil(bench.backfill.suspendedUntil(with: bench.token, at: bench.now))
    bench.drain()
    expectEqual(bench.sizes, [100, 0, 0, 0, 0, 0, 0, 100, 100, 100])
    expectEqual(bench.delivered, Array(0..<300))
  }

  @Test("a single temporary 403 suspends past positions for 130 s at most")
  func deniedOnce() throws {
    var bench = try Bench(300)
    _ = bench.request(.permissionDenied)
    for _ in 0..<15 { _ = bench.request() }
    expectEqual(bench.delivered.count, 300)
  }

  @Test(
    "if requests are rejected at random, no position is dropped, and all are delivered", arguments: [0.02, 0.1, 0.37])
  func randomRefusals(rate: Double) throws {
    for seed in UInt64(1)...200 {
      var random = SplitMix64(seed: seed)
      var bench = try Bench(Int64.random(in: 1...40, using: &random), limit: Int.random(in: 1...20, using: &random))
      let all = bench.backlog.count
      for _ in 0..<4000 where !bench.backlog.isEmpty {
        _ = Double.random(in: 0..<1, using: &random) < rate ? bench.request(.rejected) : bench.request()
      }
      expect(bench.refused.isEmpty, "seed \(seed)")
      expectEqual(bench.delivered.count, all, "seed \(seed)")
    }
  }

  @Test("a bad record among random rejections is dropped when the random rejections end")
  func poisonAmongRandomRefusals() throws {
    for seed in UInt64(1)...50 {
      var random = SplitMix64(seed: seed)
      var bench = try Bench(60, limit: 20)
      let poison = Int64.random(in: 0..<60, using: &random)
      bench.answer = { $0.contains(poison) ? .rejected : nil }
      for _ in 0..<200 where !bench.backlog.isEmpty {
        _ = Int.random(in: 0..<5, using: &random) == 0 ? bench.request(.rejected) : bench.request()
      }
      bench.drain(300)
      expectEqual(bench.refused, [poison], "seed \(seed)")
      expect(bench.backlog.isEmpty)
    }
  }

  @Test("records that are rejected for an hour and then accepted are delivered")
  func refusedForAWhile() throws {
    var bench = try Bench(60)
    bench.answer = { _ in .rejected }
    for _ in 0..<360 { _ = bench.request() }
    bench.answer = { _ in nil }
    bench.drain(400)
    expect(bench.refused.isEmpty)
    expectEqual(bench.delivered.count, 60)
  }

  @Test("a position that was rejected alone is not sent again until an older live position can be the control")
  func noControl() throws {
    var bench = try Bench(1)
    bench.hasControl = false
    bench.answer = { _ in .rejected }
    var requests = 0
    for _ in 0..<360 where bench.backfill.hasWork(among: bench.sendable) {
      _ = bench.request()
      requests += 1
    }
    expectEqual(requests, 3)
    expect(bench.refused.isEmpty)
    // A fix arrives, so that the last live position can be the control.
    bench.hasControl = true
    bench.answer = { $0.contains(0) ? .rejected : nil }
    bench.drain(200)
    expectEqual(bench.refused, [0])
  }

  @Test("a live position that is rejected even alone removes nothing from the backlog")
  func liveRefused() throws {
    var bench = try Bench(300)
    for _ in 0..<10 {
      // The first request has past positions, the second has none.
      let accepted = (bench.request(.rejected), bench.request(.rejected))
      expect(accepted == (false, false))
    }
    expectEqual(bench.backlog.count, 300)
    bench.drain()
    expect(bench.refused.isEmpty)
    expectEqual(bench.delivered.count, 300)
  }

  @Test("a rejected live position that is followed by an accepted one removes nothing from the backlog")
  func liveRefusedOnce() throws {
    var bench = try Bench(300)
    _ = bench.request(.rejected)
    bench.drain()
    expect(bench.refused.isEmpty)
    expectEqual(bench.delivered.count, 300)
    // A single rejection is not considered a limit on the number of past positions.
    for second in 1000..<1300 as Range<Int64> { try bench.add(second) }
    bench.drain()
    expect(bench.sizes.contains(100))
  }

  private static let causes: [UpdateFailure.Category] = [.unavailable, .notFleetEngine, .network]

  @Test("after four unexplained failures in a row, one request has no past positions; if it fails too, nothing follows")
  func unexplained() throws {
    for cause in [UpdateFailure.Category.unavailable, .notFleetEngine] {
      var bench = try Bench(300)
      for _ in 0..<10 { _ = bench.request(cause) }
      expectEqual(bench.sizes, [100, 100, 100, 100, 0, 100, 100, 100, 100, 0])
      bench.drain()
      expectEqual(bench.sizes.dropFirst(10), [100, 100, 100])
      // The outage ends with the request without past positions.
      for second in 1000..<1300 as Range<Int64> { try bench.add(second) }
      for _ in 0..<4 { _ = bench.request(cause) }
      bench.drain()
      expectEqual(bench.sizes.dropFirst(13), [100, 100, 100, 100, 0, 100, 100, 100])
      expect(bench.refused.isEmpty)
    }
  }

  @Test("failures that past positions cannot cause are not counted")
  func explained() throws {
    var bench = try Bench(300)
    for _ in 0..<6 { _ = bench.request(.throttled) }
    for _ in 0..<6 { _ = bench.request(.unauthenticated) }
    for _ in 0..<6 { _ = bench.request(.network) }
    expect(!bench.sizes.contains(0))
  }

  @Test(
    "a position with unexplained failures is isolated, not dropped; it delays the live one by four requests, then by one",
    arguments: BackfillTests.causes, [1, 7, 100] as [Int64])
  func unexplainedPoison(cause: UpdateFailure.Category, count: Int64) throws {
    for poison in [0, count / 2, count - 1] {
      var bench = try Bench(count)
      bench.live = VehicleLocation(
        coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: Timestamp(seconds: 150_000))
      bench.answer = { $0.contains(poison) ? cause : nil }
      // The failures before each accepted request.
      var failures = [0]
      for _ in 0..<1000 {
        if bench.request() { failures.append(0) } else { failures[failures.count - 1] += 1 }
      }
      // Without a response, there may be too many: each smaller number is tried.
      let more = cause == .network ? 3 : 1
      expect(failures.allSatisfy { $0 <= 4 } && failures.count { $0 > 1 } <= more, "\(failures.filter { $0 > 0 })")
      expectEqual(bench.delivered.sorted(), (0..<count).filter { $0 != poison })
      expectEqual(bench.refused, [])
      expectEqual(bench.backlog.count, 1)
      expect(bench.refusals <= 24, "\(bench.refusals)")
      bench.answer = { _ in nil }
      bench.drain(140)
      expect(bench.backlog.isEmpty)
    }
  }

  @Test(
    "if all requests with past positions fail, none is dropped, and they are tried less and less often",
    arguments: BackfillTests.causes)
  func allUnexplained(cause: UpdateFailure.Category) throws {
    var bench = try Bench(300)
    bench.answer = { _ in cause }
    // A day of requests.
    for _ in 0..<8640 { _ = bench.request() }
    expect(bench.refused.isEmpty)
    expectEqual(bench.backlog.count, 300)
    expect(bench.refusals <= 160, "\(bench.refusals)")
    bench.answer = { _ in nil }
    bench.drain(440)
    expectEqual(bench.delivered.count, 300)
  }

  @Test("random unexplained failures and outages drop nothing, even beside random rejections", arguments: 1...100)
  func randomUnexplained(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var bench = try Bench(200, limit: Int.random(in: 1...40, using: &random))
    let rate = Double.random(in: 0..<0.6, using: &random)
    var outage = 0
    for _ in 0..<6000 where !bench.backlog.isEmpty {
      if outage == 0, Int.random(in: 0..<50, using: &random) == 0 { outage = Int.random(in: 1...20, using: &random) }
      if outage > 0 || Double.random(in: 0..<1, using: &random) < rate {
        outage = max(outage - 1, 0)
        _ = bench.request(Int.random(in: 0..<10, using: &random) == 0 ? .rejected : .unavailable)
      } else {
        _ = bench.request()
      }
    }
    expect(bench.refused.isEmpty)
    expectEqual(Set(bench.delivered), Set(0..<200))
  }

  @Test("requests have fewer past positions after network failures, down to eight, and more as the network recovers")
  func failingNetwork() throws {
    var bench = try Bench(1000)
    for _ in 0..<8 { _ = bench.request(.network) }
    bench.drain(6)
    expectEqual(bench.sizes, [100, 50, 25, 12, 8, 8, 8, 8] + [8, 16, 32, 64, 100, 100])
  }

  @Test("a failing network halves the batch even while rejected positions are bisected")
  func failingNetworkWhileBisecting() throws {
    var bench = try Bench(1000)
    bench.answer = { $0.count == 100 ? .rejected : nil }
    for _ in 0..<2 { _ = bench.request() }
    for _ in 0..<6 { _ = bench.request(.network) }
    bench.drain(3)
    expectEqual(bench.sizes, [100, 0] + [50, 50, 25, 12, 8, 8] + [8, 16, 32])
  }

  @Test("batches that are smaller due to a failing network are not considered a limit of the server")
  func failingNetworkIsNoLimit() throws {
    var bench = try Bench(2000)
    bench.answer = { $0.count > 60 ? .rejected : nil }
    // Until the second pass, which finds the limit.
    while bench.sizes.count(where: { $0 > 60 }) < 2 { _ = bench.request() }
    _ = bench.request()
    for _ in 0..<4 { _ = bench.request(.network) }
    bench.drain(40)
    expect(bench.sizes.suffix(10).allSatisfy { (30...60).contains($0) }, "\(bench.sizes)")
  }

  @Test("two coincidental rejections, far apart, are not considered a limit on the number of past positions")
  func rejectionsFarApart() throws {
    var bench = try Bench(4000)
    for _ in 0..<2 {
      bench.answer = { $0.count == 100 ? .rejected : nil }
      bench.drain(2)
      bench.answer = { _ in nil }
      bench.drain(10)
      expectEqual(bench.sizes.last, 100)
    }
  }

  @Test("a limit on the number of past positions is forgotten when it no longer applies")
  func formerLimit() throws {
    var bench = try Bench(20_000)
    bench.answer = { $0.count > 50 ? .rejected : nil }
    bench.drain(60)
    expectEqual(bench.sizes.suffix(5), [50, 50, 50, 50, 50])
    bench.answer = { _ in nil }
    bench.drain(130)
    expectEqual(bench.sizes.last, 100)
  }

  @Test("the number of past positions in a request is limited by their size in bytes")
  func bytes() throws {
    var bench = try Bench(0, limit: 1000)
    let coordinate = try #require(Coordinate(latitude: -48.1234567, longitude: -111.1234567))
    for second in 0..<1000 as Range<Int64> {
      var location = VehicleLocation(coordinate: coordinate, time: Timestamp(milliseconds: second * 1000 + 250))
      location.altitude = -1234.5
      location.heading = 271
      location.speed = 133.25
      location.horizontalAccuracy = 12.5
      _ = bench.backlog.append(location, limit: .max)
    }
    bench.drain(3)
    expect(bench.sizes.allSatisfy { (100...120).contains($0) }, "\(bench.sizes)")
  }
}
