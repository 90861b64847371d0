// SPDX-License-Identifier: Apache-2.0
import Testing
import Timekeeping

@testable import Delivery

@Suite struct DutyTests {
  private var duty = Duty()
  private let note = PauseNote(since: Timestamp(seconds: 1_796_083_200))

  @Test("a second pause changes nothing about the first")
  mutating func pause() {
    #expect(duty.pause == nil)
    #expect(duty.pause(note) == true)
    #expect(duty.pause(PauseNote(since: nil)) == false)
    #expect(duty.pause == note)
  }

  @Test("the end of a pause says which one it was, and there is none to end twice")
  mutating func resume() {
    #expect(duty.resume() == nil)
    _ = duty.pause(note)
    let ended = duty.resume()
    #expect(ended?.pause == note && ended?.isTokenFileChanged == false)
    #expect(duty.pause == nil)
    #expect(duty.resume() == nil)
  }

  @Test("a token's file that changes is read at once on duty, and after the pause off duty")
  mutating func token() {
    #expect(duty.tokenFileChanged() == true)
    _ = duty.pause(note)
    #expect(duty.tokenFileChanged() == false)
    #expect(duty.pause == note)
    #expect(duty.resume()?.isTokenFileChanged == true)
    _ = duty.pause(note)
    // OFFLINE may wait for it.
    #expect(duty.tokenFileChanged(isNeeded: true) == true)
    #expect(duty.resume()?.isTokenFileChanged == false)
  }

  @Test("OFFLINE is pending in a pause until it is accepted for the vehicle of the settings")
  mutating func offline() {
    #expect(!duty.isOfflinePending(for: "a"))
    _ = duty.pause(note)
    #expect(duty.isOfflinePending(for: "a") && !duty.isAcceptedEarly)
    let kept = duty.acceptedOffline(of: "a", isEarly: false)
    #expect(kept?.since == note.since && kept?.offline == "a")
    #expect(!duty.isOfflinePending(for: "a") && duty.isOfflinePending(for: "b"))
    _ = duty.resume()
    #expect(!duty.isOfflinePending(for: "b"))
    #expect(duty.acceptedOffline(of: "a", isEarly: false) == nil)
    _ = duty.pause(note)
    #expect(duty.isOfflinePending(for: "a"))
  }

  @Test("OFFLINE counts once no position can follow it")
  mutating func early() {
    _ = duty.pause(note)
    #expect(duty.acceptedOffline(of: "a", isEarly: true) == nil)
    #expect(duty.isOfflinePending(for: "a") && duty.isAcceptedEarly)
    #expect(duty.acceptedOffline(of: "a", isEarly: false)?.offline == "a")
    #expect(!duty.isAcceptedEarly)
    #expect(duty.acceptedOffline(of: "b", isEarly: true) == nil)
    duty.vehicleChanged()
    #expect(duty.isOfflinePending(for: "b") && !duty.isAcceptedEarly)
  }

  @Test("a note that is read is the note that was written, and any other text is a pause of unknown beginning")
  func text() {
    #expect(PauseNote(text: note.text) == note)
    var offline = note
    offline.offline = "trips/p/v%201"
    #expect(offline.text == note.text + "offline trips/p/v%201\n")
    #expect(PauseNote(text: offline.text) == offline)
    // Half a line is none.
    for text in ["\noffline ", "\noffline a", "\noffline a b\n", "\noffline \n", "\nonline a\n"] {
      #expect(PauseNote(text: text) == PauseNote(since: nil))
    }
    for text in ["", "\n", "unknown\n", "yesterday", "\u{0}\u{1}"] {
      #expect(PauseNote(text: text) == PauseNote(since: nil))
    }
  }
}
