// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Connectivity

struct NetworkSurveyTests {
  private struct Fixture {
    var survey = NetworkSurvey()
    var now = BootInstant.boot
    var sequence: UInt32 = 0
    var requests = 0
    var states: [NetworkState] = []

    mutating func handle(_ input: NetworkSurvey.Input, after time: Duration = .zero) {
      now = now + time
      for effect in survey.handle(input, at: now) {
        switch effect {
        case .request(_, let sequence):
          self.sequence = sequence
          requests += 1
        case .state(let state): states.append(state)
        }
      }
    }

    mutating func answer(_ recording: NetlinkRecording) throws {
      handle(.received(try recording.bytes(sequence: sequence)))
    }

    mutating func dump(routes: NetlinkRecording = .routes) throws {
      try answer(.links)
      try answer(.addresses)
      try answer(routes)
    }
  }

  @Test("at the start the survey dumps links, addresses and routes, and reports the resulting state")
  func start() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    try fixture.dump()
    expectEqual(fixture.requests, 3)
    let state = try #require(fixture.states.first)
    expect(state.isUsable)
    expectEqual(state.linkNames, ["wwan0"])
    expectEqual(state.addresses.count, 2)
    expectNil(fixture.survey.nextDeadline)
  }

  @Test("a default route that is missing from the dump is missing from the reported state")
  func noRoute() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    try fixture.dump(routes: .routesWithoutAddress)
    // The IPv6 route is still there.
    expectEqual(fixture.states.first?.routes.map(\.family), [.ipv6])
  }

  @Test(
    "after notifications, which are debounced, everything is dumped again; a notification without a change is ignored")
  func notifications() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    try fixture.dump()
    fixture.handle(.received(try NetlinkRecording.links.bytes().notifying))
    expectNil(fixture.survey.nextDeadline)
    fixture.handle(.received(try NetlinkRecording.addressGone.bytes()), after: .seconds(10))
    expectEqual(fixture.requests, 3)
    expectEqual(fixture.survey.nextDeadline, fixture.now + NetworkSurvey.debounceInterval)
    fixture.handle(.deadline, after: NetworkSurvey.debounceInterval)
    try fixture.dump(routes: .routesWithoutAddress)
    expectEqual(fixture.requests, 6)
    expectEqual(fixture.states.count, 2)
  }

  @Test("lost messages, an incomplete response and an error cause a new dump")
  func losses() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    fixture.handle(.overrun)
    fixture.handle(.deadline, after: NetworkSurvey.debounceInterval)
    expectEqual(fixture.requests, 2)
    try fixture.answer(.links)
    fixture.handle(.deadline, after: NetworkSurvey.dumpTimeout)
    expectEqual(fixture.requests, 4)
    var refusal: [UInt8] = [20, 0, 0, 0, 2, 0, 0, 0]
    refusal += [UInt8(fixture.sequence), 0, 0, 0, 0, 0, 0, 0, 0xF0, 0xFF, 0xFF, 0xFF]
    fixture.handle(.received(refusal))
    fixture.handle(.deadline, after: NetworkSurvey.dumpTimeout)
    expectEqual(fixture.requests, 5)
    try fixture.dump()
    expectEqual(fixture.states.count, 1)
  }

  @Test("a change during a dump causes another dump")
  func changeWhileAsking() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    try fixture.answer(.links)
    fixture.handle(.received(try NetlinkRecording.carrierLost.bytes()))
    try fixture.answer(.addresses)
    try fixture.answer(.routes)
    expectEqual(fixture.survey.nextDeadline, fixture.now + NetworkSurvey.debounceInterval)
  }

  @Test("a network that changes during every dump is still reported, but not after each dump")
  func restless() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    for _ in 0..<4 {
      expect(fixture.states.isEmpty)
      try fixture.answer(.links)
      fixture.handle(.received(try NetlinkRecording.carrierLost.bytes()))
      try fixture.answer(.addresses)
      try fixture.answer(.routes)
      fixture.handle(.deadline, after: NetworkSurvey.debounceInterval)
    }
    expectEqual(fixture.states.count, 1)
  }

  @Test("replies to an older request, and unsolicited dumps, change nothing")
  func foreign() throws {
    var fixture = Fixture()
    fixture.handle(.start)
    try fixture.dump()
    fixture.handle(.received(try NetlinkRecording.links.bytes(sequence: 1)))
    fixture.handle(.received(try NetlinkRecording.routes.bytes(sequence: 900)))
    expectEqual(fixture.requests, 3)
    expectEqual(fixture.states.count, 1)
  }
}

extension [UInt8] {
  /// The same messages in the form of a notification, without NLM_F_MULTI.
  fileprivate var notifying: [UInt8] {
    var bytes = self
    var offset = 0
    while offset + 16 <= bytes.count {
      let length = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
      bytes[offset + 6] &= ~2
      // A notification has no NLMSG_DONE.
      if bytes[offset + 4] == 3 { return Array(bytes[..<offset]) }
      offset += (length + 3) & ~3
    }
    return bytes
  }
}
