// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Vehicle

struct DutyStateTests {
  private var dutyState = DutyState()
  private let note = PauseRecord(since: Timestamp(seconds: 1_796_083_200))

  @Test("a second pause changes nothing about the first")
  mutating func pause() {
    expectNil(dutyState.pause)
    expectEqual(dutyState.pause(note), note)
    expectNil(dutyState.pause(PauseRecord(since: nil)))
    expectEqual(dutyState.pause, note)
  }

  @Test("the end of a pause names the pause, and a pause ends only once")
  mutating func resume() {
    expectNil(dutyState.resume())
    _ = dutyState.pause(note)
    let ended = dutyState.resume()
    expect(ended?.pause == note && ended?.isTokenFileChanged == false)
    expectNil(dutyState.pause)
    expectNil(dutyState.resume())
  }

  @Test("a token file that changes is read at once, but during a pause only after it")
  mutating func token() {
    expectEqual(dutyState.tokenFileChanged(), true)
    _ = dutyState.pause(note)
    expectEqual(dutyState.tokenFileChanged(), false)
    expectEqual(dutyState.pause, note)
    expectEqual(dutyState.resume()?.isTokenFileChanged, true)
    _ = dutyState.pause(note)
    // It does not wait for OFFLINE.
    expectEqual(dutyState.tokenFileChanged(isNeeded: true), true)
    expectEqual(dutyState.resume()?.isTokenFileChanged, false)
  }

  @Test("in a pause OFFLINE is pending until it is accepted for the configured vehicle")
  mutating func offline() {
    expect(!dutyState.isOfflinePending(for: "a"))
    _ = dutyState.pause(note)
    expect(dutyState.isOfflinePending(for: "a") && !dutyState.isAcceptedEarly)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), true)
    expect(dutyState.pause?.since == note.since && dutyState.pause?.offline == "a")
    expect(!dutyState.isOfflinePending(for: "a") && dutyState.isOfflinePending(for: "b"))
    _ = dutyState.resume()
    expect(!dutyState.isOfflinePending(for: "b"))
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), false)
    _ = dutyState.pause(note)
    expect(dutyState.isOfflinePending(for: "a"))
  }

  @Test("OFFLINE is final once no position can arrive after it")
  mutating func early() {
    _ = dutyState.pause(note)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: true), false)
    expect(dutyState.isOfflinePending(for: "a") && dutyState.isAcceptedEarly)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), true)
    expect(!dutyState.isAcceptedEarly)
    expectEqual(dutyState.acceptedOffline(of: "b", isEarly: true), false)
    expectEqual(dutyState.vehicleChanged(), false)
    expect(dutyState.isOfflinePending(for: "b") && !dutyState.isAcceptedEarly)
  }

  @Test("off duty OFFLINE is pending until it is accepted, once for pause and duty together")
  mutating func offDuty() {
    let record = DutyRecord(since: note.since, vehicle: "a")
    expectEqual(dutyState.goOffline(record), record)
    expectNil(dutyState.goOffline(DutyRecord(since: nil, vehicle: "a")))
    expect(dutyState.isOffline && dutyState.isOfflinePending(for: "a"))
    // The same OFFLINE serves a pause in the meantime.
    expectNil(dutyState.pause(note)?.offline)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), true)
    expect(dutyState.offDuty?.isAccepted == true && dutyState.pause?.offline == "a")
    _ = dutyState.resume()
    expect(dutyState.isOffline && !dutyState.isOfflinePending(for: "a"))
    // A later pause has nothing to send.
    expectEqual(dutyState.pause(note)?.offline, "a")
    expect(dutyState.goOnline()?.since == note.since && dutyState.goOnline() == nil)
    expect(dutyState.isOffline && !dutyState.isOfflinePending(for: "a"))
    // Off duty again in this pause, which Fleet Engine has accepted.
    expectEqual(dutyState.goOffline(record)?.isAccepted, true)
    _ = dutyState.resume()
    expectEqual(dutyState.vehicleChanged(), true)
    expect(!dutyState.isOffline)
  }

  @Test(
    "a stored duty is read as it was written, and any other text means OFFLINE of the configured vehicle")
  func dutyText() {
    var record = DutyRecord(since: note.since, vehicle: "trips/p/v%201")
    expectEqual(record.text, note.text + "vehicle trips/p/v%201\n")
    expectEqual(DutyRecord(text: record.text), record)
    record.isAccepted = true
    expectEqual(record.text, note.text + "vehicle trips/p/v%201\naccepted\n")
    expectEqual(DutyRecord(text: record.text), record)
    // Half a line is not accepted.
    expectEqual(DutyRecord(text: String(record.text.dropLast())).isAccepted, false)
    for text in [
      "", "\n", "unknown\n", "\nvehicle ", "\nvehicle a", "\nvehicle a b\n", "\nvehicle \naccepted\n", "\u{0}",
    ] {
      expectEqual(DutyRecord(text: text), DutyRecord(since: nil))
    }
  }

  @Test("a stored pause is read as it was written, and any other text is a pause with an unknown start")
  func text() {
    expectEqual(PauseRecord(text: note.text), note)
    var offline = note
    offline.offline = "trips/p/v%201"
    expectEqual(offline.text, note.text + "offline trips/p/v%201\n")
    expectEqual(PauseRecord(text: offline.text), offline)
    // Half a line is not accepted.
    for text in ["\noffline ", "\noffline a", "\noffline a b\n", "\noffline \n", "\nonline a\n"] {
      expectEqual(PauseRecord(text: text), PauseRecord(since: nil))
    }
    for text in ["", "\n", "unknown\n", "yesterday", "\u{0}\u{1}"] {
      expectEqual(PauseRecord(text: text), PauseRecord(since: nil))
    }
  }
}
