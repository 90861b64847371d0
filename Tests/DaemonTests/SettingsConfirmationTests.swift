// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping
import Vehicle

@testable import Daemon

/// The time limit for the confirmation of new settings, and what confirms them.
struct SettingsConfirmationTests {
  private static let old = SettingsParts(all: "a", destination: "d", source: "s", token: "t")

  private static func confirmation(
    _ change: (inout SettingsParts) -> Void = { _ in }, used: Duration = .zero,
    previousAvailability: SettingsConfirmation.Availability = SettingsConfirmation.Availability()
  ) -> SettingsConfirmation {
    var new = old
    new.all = "b"
    change(&new)
    return SettingsConfirmation(
      of: new, previous: old, within: .seconds(60), elapsed: used, previousAvailability: previousAvailability,
      since: second(0))
  }

  private static func second(_ seconds: Int64) -> BootInstant { .boot + .seconds(100 + seconds) }

  private static func state(
    fixAt: Int64? = 1, hasToken: Bool = true, obtainedAt: Int64? = nil,
    _ change: (inout VehicleAgent.Readiness) -> Void = { _ in }
  ) -> VehicleAgent.Readiness {
    var state = VehicleAgent.Readiness()
    (state.fixAt, state.hasToken) = (fixAt.map(second), hasToken)
    state.tokenObtainedAt = obtainedAt.map(second)
    change(&state)
    return state
  }

  /// Of 20 s spent in this state, the number of seconds that count towards the limit.
  private static func countedTime(_ confirmation: SettingsConfirmation, _ state: VehicleAgent.Readiness) -> Int64 {
    var confirmation = confirmation
    _ = confirmation.observe(state, at: second(10))
    return 60 - confirmation.left(at: second(30)).wholeSeconds
  }

  @Test("time counts towards the limit only while the previous settings could have delivered positions")
  func clock() {
    let plain = Self.confirmation()
    expectEqual(Self.countedTime(plain, Self.state()), 20)
    for change: (inout VehicleAgent.Readiness) -> Void in [
      { $0.hasNetwork = false }, { $0.isPaused = true }, { $0.isVehicleInUse = true }, { $0.isRunning = false },
    ] {
      expectEqual(Self.countedTime(plain, Self.state(change)), 0)
    }
    expectEqual(Self.countedTime(plain, Self.state(fixAt: nil)), 0)
    expectEqual(Self.countedTime(plain, Self.state(hasToken: false)), 0)
  }

  @Test("time without a fix counts if the sources changed and the previous ones had a fix; likewise for tokens")
  func missing() {
    let (lacksFix, lacksToken) = (
      SettingsConfirmation.Availability(fix: false, token: true),
      SettingsConfirmation.Availability(fix: true, token: false)
    )
    // There is no fix, or the last fix is from the previous sources.
    for fixAt in [nil, -1] as [Int64?] {
      let state = Self.state(fixAt: fixAt)
      expectEqual(Self.countedTime(Self.confirmation { $0.source = "x" }, state), 20)
      expectEqual(Self.countedTime(Self.confirmation({ $0.source = "x" }, previousAvailability: lacksFix), state), 0)
    }
    expectEqual(Self.countedTime(Self.confirmation { $0.token = "x" }, Self.state(fixAt: nil)), 0)
    // There is no token, or the token is from the previous provider.
    for hasToken in [false, true] {
      let state = Self.state(hasToken: hasToken)
      expectEqual(Self.countedTime(Self.confirmation { $0.token = "x" }, state), 20)
      expectEqual(Self.countedTime(Self.confirmation({ $0.token = "x" }, previousAvailability: lacksToken), state), 0)
    }
    expectEqual(Self.countedTime(Self.confirmation { $0.source = "x" }, Self.state(hasToken: false)), 0)
  }

  @Test("an update confirms new settings only after a fix of the new source and a token of the new provider")
  func confirms() {
    var plain = Self.confirmation()
    _ = plain.observe(Self.state(fixAt: nil), at: Self.second(1))
    expect(plain.isConfirmed(byUpdateSentAt: Self.second(0)) && !plain.isConfirmed(byUpdateSentAt: Self.second(-1)))
    var source = Self.confirmation { $0.source = "x" }
    _ = source.observe(Self.state(fixAt: -1), at: Self.second(3))
    expect(!source.isConfirmed(byUpdateSentAt: Self.second(3)))
    _ = source.observe(Self.state(fixAt: 5), at: Self.second(5))
    expect(!source.isConfirmed(byUpdateSentAt: Self.second(4)) && source.isConfirmed(byUpdateSentAt: Self.second(5)))
    var both = Self.confirmation {
      $0.source = "x"
      $0.token = "x"
    }
    _ = both.observe(Self.state(fixAt: 5), at: Self.second(5))
    expect(!both.isConfirmed(byUpdateSentAt: Self.second(6)))
    expectEqual(both.observe(Self.state(fixAt: 6, obtainedAt: 8), at: Self.second(8)).last, .sendNow)
    expect(!both.isConfirmed(byUpdateSentAt: Self.second(7)) && both.isConfirmed(byUpdateSentAt: Self.second(8)))
  }

  @Test("the elapsed time is stored in advance, in steps of 10 s; after a restart, the countdown continues from there")
  func steps() {
    var confirmation = Self.confirmation()
    func waiting(_ used: Int64) -> SettingsConfirmation.Step {
      .store(
        .waiting(
          SettingsConfirmation.Waiting(
            all: "b", limit: .seconds(60), elapsed: .seconds(used),
            previousAvailability: SettingsConfirmation.Availability())))
    }
    expectEqual(confirmation.observe(Self.state { $0.hasNetwork = false }, at: Self.second(0)), [waiting(0), .sendNow])
    expectNil(confirmation.nextDeadline)
    expectEqual(confirmation.observe(Self.state(), at: Self.second(50)), [waiting(10)])
    expectEqual(confirmation.nextDeadline, Self.second(60))
    confirmation.slept(for: .seconds(100))
    expectEqual(confirmation.nextDeadline, Self.second(160))
    expectEqual(confirmation.observe(Self.state(), at: Self.second(160)), [waiting(20)])
    var restarted = Self.confirmation(used: .seconds(50))
    expectEqual(restarted.observe(Self.state(), at: Self.second(0)), [waiting(60), .sendNow])
    expectEqual(restarted.nextDeadline, Self.second(10))
    expectEqual(restarted.observe(Self.state(), at: Self.second(10)), [.end])
    expect(restarted.isOver && restarted.nextDeadline == nil && restarted.left(at: Self.second(20)) == .zero)
  }

  @Test("the previous settings are restored only if they have the same vehicle, Fleet Engine, proxy and credentials")
  func obstacles() {
    expectNil(Self.confirmation { $0.token = "x" }.obstacle)
    expectEqual(
      Self.confirmation { $0.destination = "x" }.obstacle,
      "the previous ones name another vehicle, Fleet Engine or proxy")
    expectEqual(
      Self.confirmation { $0.credentials = "x" }.obstacle, "a credential has changed since the previous ones")
  }

  @Test("settings of an earlier release, which stored no credentials, are restored if the new ones have no credential")
  func unknownCredentials() {
    let earlier = SettingsParts(credentials: SettingsParts.unknownCredentials)
    expectNil(SettingsParts().obstacle(to: earlier))
    expectEqual(
      SettingsParts(credentials: "x").obstacle(to: earlier),
      "the previous ones were stored by an earlier release, so it is unknown whether a credential has changed")
    expectEqual(
      SettingsParts(credentials: "x").obstacle(to: SettingsParts()), "a credential has changed since the previous ones")
  }

  @Test("a confirmation record is read back as it was written, and invalid text is ignored")
  func records() {
    let previousAvailability = SettingsConfirmation.Availability(fix: false, token: true)
    let records: [ConfirmationRecord] = [
      .waiting(
        SettingsConfirmation.Waiting(
          all: "ab", limit: .seconds(600), elapsed: .seconds(20), previousAvailability: previousAvailability)),
      .reverted(all: "ab", credentials: "-", why: "no token: 404"),
    ]
    for record in records {
      expectEqual(ConfirmationRecord(record.text), record)
      for length in 0..<record.text.count { expectNil(ConfirmationRecord(String(record.text.prefix(length)))) }
    }
    let title = "fleet-locationd confirmation 1"
    for text in [
      "waiting a -1 0 0 0", "waiting a 1 9999999999999 0 0", "waiting a 1 1 1", "else a b", "taken-back a b",
    ] {
      expectNil(ConfirmationRecord("\(title)\n\(text)\nend\n"))
    }
    expectEqual(
      ConfirmationRecord.reverted(all: "a", credentials: "b", why: "x\ny").text, "\(title)\ntaken-back a b\nx y\nend\n"
    )
  }
}
