// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import FleetEngine
import HTTPMessages
import Testing
import Timekeeping

@testable import Delivery

/// Transcripts: a server's responses to each form, and the form that is used next.
struct UpdateFormNegotiationTests {
  /// A negotiation and its server.
  private struct Bench {
    var negotiation: UpdateFormNegotiation
    var now = BootInstant.boot
    /// The last stored result.
    var stored: String?

    init(_ mode: UpdateFormNegotiation.Mode = .auto, release: String = "1", server: String = "https://e.test") {
      var configuration = UpdateFormNegotiation.Configuration(release: release)
      configuration.mode = mode
      negotiation = UpdateFormNegotiation(configuration, server: server)
    }

    var form: UpdateForm { negotiation.form(at: now) }

    /// An update is accepted.
    ///
    /// - Returns: its form.
    mutating func accept() -> UpdateForm {
      let form = form
      if let text = negotiation.accepted(form, at: now) { stored = text }
      now = now + .seconds(10)
      return form
    }

    /// An update fails: with this HTTP status, or without a response.
    ///
    /// - Returns: whether it is retried at once.
    mutating func fail(_ status: Int?, _ transport: TransportFailure.Kind? = nil, isOpen: Bool = false) -> Bool {
      var failure = UpdateFailure(status == nil ? .network : .rejected, "no", from: .deliveries, httpStatus: status)
      failure.transport = transport
      failure.isConnectionOpen = isOpen
      defer { now = now + .seconds(1) }
      return negotiation.failed(form, failure)
    }

    /// Updates are accepted until the compact form is tried again.
    ///
    /// - Returns: the seconds until then.
    mutating func secondsUntilCompactProbe() -> Int64 {
      let start = now
      while form == .plain, now - start < .seconds(200_000) { _ = accept() }
      return (now - start).wholeSeconds
    }
  }

  @Test("if the plain form fails with 503, the form of the update before it was not the cause, and nothing is stored")
  func unavailable() {
    var bench = Bench()
    for _ in 0..<3 {
      expect(bench.fail(500))
      expect(!bench.fail(503))
      expectEqual(bench.accept(), .plain)
      expectNil(bench.stored)
      // One of the updates until then was that which was accepted.
      expectEqual(bench.secondsUntilCompactProbe(), 590)
    }
    expectEqual(bench.form, .compact)
  }

  @Test("as long as no update is rejected, every update is compact, and nothing is stored")
  func accepted() {
    var bench = Bench()
    expectEqual(bench.negotiation.summary, .untested)
    for _ in 0..<100 { expectEqual(bench.accept(), .compact) }
    expect(bench.negotiation.summary == .accepted && bench.stored == nil)
  }

  @Test(
    "if the compact form is rejected and the plain one accepted, twice, ten minutes apart, updates stay plain",
    arguments: [400, 403, 406, 413, 415, 500, 501, 502])
  func refused(status: Int) throws {
    var bench = Bench()
    expectEqual(bench.fail(status), true)
    expectEqual(bench.negotiation.summary, .fallback(until: nil))
    expectEqual(bench.accept(), .plain)
    expectEqual(bench.secondsUntilCompactProbe(), 590)
    expectEqual(bench.fail(status), true)
    expectEqual(bench.accept(), .plain)
    expectEqual(bench.negotiation.summary, .rejected(httpStatus: status))
    expect(bench.secondsUntilCompactProbe() >= 200_000)
    // The result applies to this server and release only.
    let text = try #require(bench.stored)
    var next = Bench()
    next.negotiation.restore(text)
    expect(next.form == .plain && next.negotiation.summary == .rejected(httpStatus: status))
    for var other in [Bench(release: "2"), Bench(server: "https://f.test")] {
      other.negotiation.restore(text)
      expectEqual(other.form, .compact)
    }
  }

  @Test(
    "a first rejection of the compact form still counts in the next run, unless a compact update is accepted meanwhile")
  func nextRun() throws {
    var bench = Bench()
    _ = bench.fail(415)
    _ = bench.accept()
    var (refusing, accepting) = (Bench(), Bench())
    refusing.negotiation.restore(try #require(bench.stored))
    accepting.negotiation.restore(try #require(bench.stored))
    _ = refusing.fail(415)
    _ = refusing.accept()
    expectEqual(refusing.negotiation.summary, .rejected(httpStatus: 415))
    _ = accepting.accept()
    var last = Bench()
    last.negotiation.restore(try #require(accepting.stored))
    _ = last.fail(415)
    _ = last.accept()
    expect(last.negotiation.summary != .rejected(httpStatus: 415))
  }

  @Test("if the plain update is rejected too, updates are plain until one is accepted, and for an hour after that")
  func otherCause() {
    var bench = Bench()
    expectEqual(bench.fail(400), true)
    for _ in 0..<5 {
      expectEqual(bench.form, .plain)
      expectEqual(bench.fail(400), false)
    }
    expectEqual(bench.accept(), .plain)
    expectNil(bench.stored)
    expectEqual(bench.secondsUntilCompactProbe(), 3590)
    expectEqual(bench.accept(), .compact)
  }

  @Test("a comparison of the forms continues after failures of the network")
  func interrupted() {
    var bench = Bench()
    _ = bench.fail(415)
    expectEqual(bench.fail(nil, .timedOut), false)
    expectEqual(bench.fail(nil, .unreachable), false)
    expectEqual(bench.accept(), .plain)
    expect(bench.stored != nil)
  }

  @Test(
    "failures that do not depend on the form do not change it",
    arguments: [
      (401, nil), (429, nil), (503, nil), (nil, .unreachable), (nil, .unresolved), (nil, .refused), (nil, .unprocessed),
      (nil, .certificateUntrusted),
    ] as [(Int?, TransportFailure.Kind?)])
  func others(status: Int?, transport: TransportFailure.Kind?) {
    var bench = Bench()
    for _ in 0..<50 { expectEqual(bench.fail(status, transport), false) }
    expectEqual(bench.accept(), .compact)
    for _ in 0..<50 { expectEqual(bench.fail(status, transport), false) }
    expectEqual(bench.form, .compact)
  }

  @Test(
    "after two compact updates fail for an unclear reason, updates are plain until one is accepted and a wait is over",
    arguments: [(nil, .timedOut), (nil, .broken), (404, nil), (200, nil)] as [(Int?, TransportFailure.Kind?)])
  func silence(status: Int?, transport: TransportFailure.Kind?) {
    var bench = Bench()
    expectEqual(bench.fail(status, transport), false)
    expectEqual(bench.form, .compact)
    expectEqual(bench.fail(status, transport), false)
    expectEqual(bench.accept(), .plain)
    expectNil(bench.stored)
    // The wait doubles while the probe fails, up to a day.
    var waits: [Int64] = []
    for _ in 0..<10 {
      waits.append(bench.secondsUntilCompactProbe())
      expectEqual(bench.fail(status, transport), false)
      expectEqual(bench.accept(), .plain)
    }
    expect(waits.prefix(3) == [590, 1190, 2390] && waits.last == 86_390)
    _ = bench.secondsUntilCompactProbe()
    expectEqual(bench.accept(), .compact)
  }

  @Test(
    "after an acceptance, three failures in a row with a response or stream reset, or ten others, reopen the comparison"
  )
  func reopened() {
    for isReset in [false, true] {
      var bench = Bench()
      _ = bench.accept()
      for _ in 0..<2 { expectEqual(bench.fail(isReset ? nil : 400, isReset ? .broken : nil, isOpen: isReset), false) }
      expectEqual(bench.accept(), .compact)
      for _ in 0..<2 { _ = bench.fail(isReset ? nil : 400, isReset ? .broken : nil, isOpen: isReset) }
      expectEqual(bench.form, .compact)
      expectEqual(bench.fail(isReset ? nil : 400, isReset ? .broken : nil, isOpen: isReset), !isReset)
      expectEqual(bench.accept(), .plain)
      // Later the compact form is tried again, and accepted.
      _ = bench.secondsUntilCompactProbe()
      expectEqual(bench.accept(), .compact)
    }
    var tunnel = Bench()
    _ = tunnel.accept()
    for _ in 0..<9 { _ = tunnel.fail(nil, .timedOut) }
    expectEqual(tunnel.form, .compact)
    _ = tunnel.fail(nil, .timedOut)
    expectEqual(tunnel.form, .plain)
    // The first response shows that the network was the cause: the backlog is sent in the compact form.
    expectEqual(tunnel.accept(), .plain)
    expectEqual(tunnel.form, .compact)
    // If it was not, the next failure ends the attempt, for longer.
    _ = tunnel.fail(nil, .timedOut)
    expectEqual(tunnel.form, .plain)
    expectEqual(tunnel.accept(), .plain)
    expectEqual(tunnel.form, .plain)
  }

  @Test("with compact_updates = off all updates are plain, and the result so far is kept")
  func off() {
    var bench = Bench(.off)
    for _ in 0..<10 { expectEqual(bench.accept(), .plain) }
    expectEqual(bench.fail(400), false)
    expectEqual(bench.negotiation.summary, .off)
    var configuration = UpdateFormNegotiation.Configuration(release: "1")
    bench.negotiation.configure(configuration, server: "https://e.test")
    expectEqual(bench.accept(), .compact)
    configuration.mode = .off
    bench.negotiation.configure(configuration, server: "https://e.test")
    expectEqual(bench.accept(), .plain)
    bench.negotiation.configure(UpdateFormNegotiation.Configuration(release: "1"), server: "https://e.test")
    expectEqual(bench.negotiation.summary, .accepted)
    bench.negotiation.configure(UpdateFormNegotiation.Configuration(release: "1"), server: "https://f.test")
    expectEqual(bench.negotiation.summary, .untested)
  }

  @Test("a truncated file and one in another format are ignored, and a damaged one does not crash the daemon")
  func damaged() throws {
    var bench = Bench()
    for _ in 0..<2 {
      _ = bench.fail(415)
      _ = bench.accept()
      _ = bench.secondsUntilCompactProbe()
    }
    let text = try #require(bench.stored)
    for count in 0..<text.utf8.count {
      var next = Bench()
      next.negotiation.restore(String(text.prefix(count)))
      expectEqual(next.form, .compact)
    }
    var random = SplitMix64(seed: 1)
    for _ in 0..<2000 {
      var bytes = Array(text.utf8)
      let index = Int.random(in: bytes.indices, using: &random)
      bytes[index] = UInt8.random(in: 0...255, using: &random)
      var next = Bench()
      next.negotiation.restore(String(decoding: bytes, as: UTF8.self))
      _ = next.accept()
    }
    for wrong in ["form 1", "form 2"] {
      var next = Bench()
      next.negotiation.restore(text.replacing("form 1", with: wrong))
      expectEqual(next.form, (wrong == "form 1" ? .plain : .compact))
    }
  }

  @Test("with a server that rejects one compact update in ten, the compact form is rarely given up within an hour")
  func random() {
    var ended = 0
    for seed in 0..<500 as Range<UInt64> {
      var (random, bench) = (SplitMix64(seed: seed), Bench())
      for _ in 0..<360 {
        if bench.form == .compact, Int.random(in: 0..<10, using: &random) == 0 {
          _ = bench.fail(400)
        } else {
          _ = bench.accept()
        }
      }
      if case .rejected = bench.negotiation.summary { ended += 1 }
    }
    // The form is given up after a rejection at the start and one ten minutes later (a probability of 1 %), or after
    // three rejections in a row and one ten minutes later (3 %).
    expect(ended <= 35, "\(ended)")
  }
}
