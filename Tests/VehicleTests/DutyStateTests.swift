// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Vehicle

struct DutyStateTests {
  private var dutyState = DutyState()
  private let pauseRecord = PauseRecord(since: Timestamp(seconds: 1_796_083_200))

  @Test("a second pause does not change the first")
  mutating func pause() {
    expectNil(dutyState.pause)
    expectEqual(dutyState.pause(pauseRecord), pauseRecord)
    expectNil(dutyState.pause(PauseRecord(since: nil)))
    expectEqual(dutyState.pause, pauseRecord)
  }

  @Test("a resume returns the pause that it ended; a second resume returns nil")
  mutating func resume() {
    expectNil(dutyState.resume())
    _ = dutyState.pause(pauseRecord)
    let ended = dutyState.resume()
    expect(ended?.pause == pauseRecord && ended?.isTokenFileChanged == false)
    expectNil(dutyState.pause)
    expectNil(dutyState.resume())
  }

  @Test("a token file that changes is read at once, or, during a pause, when the pause ends")
  mutating func token() {
    expectEqual(dutyState.admitTokenFileChange(), true)
    _ = dutyState.pause(pauseRecord)
    expectEqual(dutyState.admitTokenFileChange(), false)
    expectEqual(dutyState.pause, pauseRecord)
    expectEqual(dutyState.resume()?.isTokenFileChanged, true)
    _ = dutyState.pause(pauseRecord)
    // A pending OFFLINE needs the token, so the file is read during the pause.
    expectEqual(dutyState.admitTokenFileChange(isTokenNeeded: true), true)
    expectEqual(dutyState.resume()?.isTokenFileChanged, false)
  }

  @Test("during a pause OFFLINE is pending until it is accepted for the configured vehicle")
  mutating func offline() {
    expect(!dutyState.isOfflinePending(for: "a"))
    _ = dutyState.pause(pauseRecord)
    expect(dutyState.isOfflinePending(for: "a") && !dutyState.isOfflineAcceptedEarly)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), true)
    expect(dutyState.pause?.since == pauseRecord.since && dutyState.pause?.offlineVehicle == "a")
    expect(!dutyState.isOfflinePending(for: "a") && dutyState.isOfflinePending(for: "b"))
    _ = dutyState.resume()
    expect(!dutyState.isOfflinePending(for: "b"))
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), false)
    _ = dutyState.pause(pauseRecord)
    expect(dutyState.isOfflinePending(for: "a"))
  }

  @Test("OFFLINE is final once no position can arrive after it")
  mutating func early() {
    _ = dutyState.pause(pauseRecord)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: true), false)
    expect(dutyState.isOfflinePending(for: "a") && dutyState.isOfflineAcceptedEarly)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), true)
    expect(!dutyState.isOfflineAcceptedEarly)
    expectEqual(dutyState.acceptedOffline(of: "b", isEarly: true), false)
    expectEqual(dutyState.vehicleChanged(), false)
    expect(dutyState.isOfflinePending(for: "b") && !dutyState.isOfflineAcceptedEarly)
  }

  @Test("off duty, OFFLINE is pending until it is accepted; one OFFLINE is enough if a pause begins as well")
  mutating func offDuty() {
    let record = DutyRecord(since: pauseRecord.since, vehicle: "a")
    expectEqual(dutyState.goOffline(record), record)
    expectNil(dutyState.goOffline(DutyRecord(since: nil, vehicle: "a")))
    expect(dutyState.isOffline && dutyState.isOfflinePending(for: "a"))
    // The same OFFLINE also serves a pause that begins before it is accepted.
    expectNil(dutyState.pause(pauseRecord)?.offlineVehicle)
    expectEqual(dutyState.acceptedOffline(of: "a", isEarly: false), true)
    expect(dutyState.offDuty?.isOfflineAccepted == true && dutyState.pause?.offlineVehicle == "a")
    _ = dutyState.resume()
    expect(dutyState.isOffline && !dutyState.isOfflinePending(for: "a"))
    // A later pause needs no further OFFLINE.
    expectEqual(dutyState.pause(pauseRecord)?.offlineVehicle, "a")
    expect(dutyState.goOnline()?.since == pauseRecord.since && dutyState.goOnline() == nil)
    expect(dutyState.isOffline && !dutyState.isOfflinePending(for: "a"))
    // Off duty again in this pause, whose OFFLINE has been accepted.
    expectEqual(dutyState.goOffline(record)?.isOfflineAccepted, true)
    _ = dutyState.resume()
    expectEqual(dutyState.vehicleChanged(), true)
    expect(!dutyState.isOffline)
  }

  @Test("a stored duty record is read back unchanged; any other text means that the configured vehicle is off duty")
  func dutyText() {
    var record = DutyRecord(since: pauseRecord.since, vehicle: "trips/p/v%201")
    expectEqual(record.text, pauseRecord.text + "vehicle trips/p/v%201\n")
    expectEqual(DutyRecord(text: record.text), record)
    record.isOfflineAccepted = true
    expectEqual(record.text, pauseRecord.text + "vehicle trips/p/v%201\naccepted\n")
    expectEqual(DutyRecord(text: record.text), record)
    // An incomplete line is ignored.
    expectEqual(DutyRecord(text: String(record.text.dropLast())).isOfflineAccepted, false)
    for text in [
      "", "\n", "unknown\n", "\nvehicle ", "\nvehicle a", "\nvehicle a b\n", "\nvehicle \naccepted\n", "\u{0}",
    ] {
      expectEqual(DutyRecord(text: text), DutyRecord(since: nil))
    }
  }

  @Test("a stored pause is read back unchanged; any other text means a pause with an unknown start")
  func text() {
    expectEqual(PauseRecord(text: pauseRecord.text), pauseRecord)
    var offline = pauseRecord
    offline.offlineVehicle = "trips/p/v%201"
    expectEqual(offline.text, pauseRecord.text + "offline trips/p/v%201\n")
    expectEqual(PauseRecord(text: offline.text), offline)
    // An incomplete or invalid line is ignored.
    for text in ["\noffline ", "\noffline a", "\noffline a b\n", "\noffline \n", "\nonline a\n"] {
      expectEqual(PauseRecord(text: text), PauseRecord(since: nil))
    }
    for text in ["", "\n", "unknown\n", "yesterday", "\u{0}\u{1}"] {
      expectEqual(PauseRecord(text: text), PauseRecord(since: nil))
    }
  }
}
