// SPDX-License-Identifier: Apache-2.0
import Testing
import Timekeeping

@testable import Vehicle

@Suite struct DutyStateTests {
  private var dutyState = DutyState()
  private let note = PauseRecord(since: Timestamp(seconds: 1_796_083_200))

  @Test("a second pause changes nothing about the first")
  mutating func pause() {
    #expect(dutyState.pause == nil)
    #expect(dutyState.pause(note) == note)
    #expect(dutyState.pause(PauseRecord(since: nil)) == nil)
    #expect(dutyState.pause == note)
  }

  @Test("the end of a pause says which one it was, and there is none to end twice")
  mutating func resume() {
    #expect(dutyState.resume() == nil)
    _ = dutyState.pause(note)
    let ended = dutyState.resume()
    #expect(ended?.pause == note && ended?.isTokenFileChanged == false)
    #expect(dutyState.pause == nil)
    #expect(dutyState.resume() == nil)
  }

  @Test("a token's file that changes is read at once on duty, and after the pause off duty")
  mutating func token() {
    #expect(dutyState.tokenFileChanged() == true)
    _ = dutyState.pause(note)
    #expect(dutyState.tokenFileChanged() == false)
    #expect(dutyState.pause == note)
    #expect(dutyState.resume()?.isTokenFileChanged == true)
    _ = dutyState.pause(note)
    // OFFLINE may wait for it.
    #expect(dutyState.tokenFileChanged(isNeeded: true) == true)
    #expect(dutyState.resume()?.isTokenFileChanged == false)
  }

  @Test("OFFLINE is pending in a pause until it is accepted for the vehicle of the settings")
  mutating func offline() {
    #expect(!dutyState.isOfflinePending(for: "a"))
    _ = dutyState.pause(note)
    #expect(dutyState.isOfflinePending(for: "a") && !dutyState.isAcceptedEarly)
    #expect(dutyState.acceptedOffline(of: "a", isEarly: false) == true)
    #expect(dutyState.pause?.since == note.since && dutyState.pause?.offline == "a")
    #expect(!dutyState.isOfflinePending(for: "a") && dutyState.isOfflinePending(for: "b"))
    _ = dutyState.resume()
    #expect(!dutyState.isOfflinePending(for: "b"))
    #expect(dutyState.acceptedOffline(of: "a", isEarly: false) == false)
    _ = dutyState.pause(note)
    #expect(dutyState.isOfflinePending(for: "a"))
  }

  @Test("OFFLINE counts once no position can follow it")
  mutating func early() {
    _ = dutyState.pause(note)
    #expect(dutyState.acceptedOffline(of: "a", isEarly: true) == false)
    #expect(dutyState.isOfflinePending(for: "a") && dutyState.isAcceptedEarly)
    #expect(dutyState.acceptedOffline(of: "a", isEarly: false) == true)
    #expect(!dutyState.isAcceptedEarly)
    #expect(dutyState.acceptedOffline(of: "b", isEarly: true) == false)
    #expect(dutyState.vehicleChanged() == false)
    #expect(dutyState.isOfflinePending(for: "b") && !dutyState.isAcceptedEarly)
  }

  @Test("off duty OFFLINE is pending until it is accepted, once for pause and duty together")
  mutating func offDuty() {
    let record = DutyRecord(since: note.since, vehicle: "a")
    #expect(dutyState.goOffline(record) == record)
    #expect(dutyState.goOffline(DutyRecord(since: nil, vehicle: "a")) == nil)
    #expect(dutyState.isOffline && dutyState.isOfflinePending(for: "a"))
    // A pause meanwhile is settled by the same OFFLINE.
    #expect(dutyState.pause(note)?.offline == nil)
    #expect(dutyState.acceptedOffline(of: "a", isEarly: false) == true)
    #expect(dutyState.offDuty?.isAccepted == true && dutyState.pause?.offline == "a")
    _ = dutyState.resume()
    #expect(dutyState.isOffline && !dutyState.isOfflinePending(for: "a"))
    // A pause after it has nothing to send.
    #expect(dutyState.pause(note)?.offline == "a")
    #expect(dutyState.goOnline()?.since == note.since && dutyState.goOnline() == nil)
    #expect(dutyState.isOffline && !dutyState.isOfflinePending(for: "a"))
    // Off duty again in this pause, which Fleet Engine has accepted.
    #expect(dutyState.goOffline(record)?.isAccepted == true)
    _ = dutyState.resume()
    #expect(dutyState.vehicleChanged() == true)
    #expect(!dutyState.isOffline)
  }

  @Test(
    "a duty that is read is the duty that was written, and any other text is OFFLINE of the vehicle of the settings")
  func dutyText() {
    var record = DutyRecord(since: note.since, vehicle: "trips/p/v%201")
    #expect(record.text == note.text + "vehicle trips/p/v%201\n")
    #expect(DutyRecord(text: record.text) == record)
    record.isAccepted = true
    #expect(record.text == note.text + "vehicle trips/p/v%201\naccepted\n")
    #expect(DutyRecord(text: record.text) == record)
    // Half a line is none.
    #expect(DutyRecord(text: String(record.text.dropLast())).isAccepted == false)
    for text in [
      "", "\n", "unknown\n", "\nvehicle ", "\nvehicle a", "\nvehicle a b\n", "\nvehicle \naccepted\n", "\u{0}",
    ] {
      #expect(DutyRecord(text: text) == DutyRecord(since: nil))
    }
  }

  @Test("a note that is read is the note that was written, and any other text is a pause of unknown beginning")
  func text() {
    #expect(PauseRecord(text: note.text) == note)
    var offline = note
    offline.offline = "trips/p/v%201"
    #expect(offline.text == note.text + "offline trips/p/v%201\n")
    #expect(PauseRecord(text: offline.text) == offline)
    // Half a line is none.
    for text in ["\noffline ", "\noffline a", "\noffline a b\n", "\noffline \n", "\nonline a\n"] {
      #expect(PauseRecord(text: text) == PauseRecord(since: nil))
    }
    for text in ["", "\n", "unknown\n", "yesterday", "\u{0}\u{1}"] {
      #expect(PauseRecord(text: text) == PauseRecord(since: nil))
    }
  }
}
