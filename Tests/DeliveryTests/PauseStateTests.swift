// SPDX-License-Identifier: Apache-2.0
import Testing
import Timekeeping

@testable import Delivery

@Suite struct PauseStateTests {
  private var pauseState = PauseState()
  private let note = PauseRecord(since: Timestamp(seconds: 1_796_083_200))

  @Test("a second pause changes nothing about the first")
  mutating func pause() {
    #expect(pauseState.pause == nil)
    #expect(pauseState.pause(note) == true)
    #expect(pauseState.pause(PauseRecord(since: nil)) == false)
    #expect(pauseState.pause == note)
  }

  @Test("the end of a pause says which one it was, and there is none to end twice")
  mutating func resume() {
    #expect(pauseState.resume() == nil)
    _ = pauseState.pause(note)
    let ended = pauseState.resume()
    #expect(ended?.pause == note && ended?.isTokenFileChanged == false)
    #expect(pauseState.pause == nil)
    #expect(pauseState.resume() == nil)
  }

  @Test("a token's file that changes is read at once on duty, and after the pause off duty")
  mutating func token() {
    #expect(pauseState.tokenFileChanged() == true)
    _ = pauseState.pause(note)
    #expect(pauseState.tokenFileChanged() == false)
    #expect(pauseState.pause == note)
    #expect(pauseState.resume()?.isTokenFileChanged == true)
    _ = pauseState.pause(note)
    // OFFLINE may wait for it.
    #expect(pauseState.tokenFileChanged(isNeeded: true) == true)
    #expect(pauseState.resume()?.isTokenFileChanged == false)
  }

  @Test("OFFLINE is pending in a pause until it is accepted for the vehicle of the settings")
  mutating func offline() {
    #expect(!pauseState.isOfflinePending(for: "a"))
    _ = pauseState.pause(note)
    #expect(pauseState.isOfflinePending(for: "a") && !pauseState.isAcceptedEarly)
    let kept = pauseState.acceptedOffline(of: "a", isEarly: false)
    #expect(kept?.since == note.since && kept?.offline == "a")
    #expect(!pauseState.isOfflinePending(for: "a") && pauseState.isOfflinePending(for: "b"))
    _ = pauseState.resume()
    #expect(!pauseState.isOfflinePending(for: "b"))
    #expect(pauseState.acceptedOffline(of: "a", isEarly: false) == nil)
    _ = pauseState.pause(note)
    #expect(pauseState.isOfflinePending(for: "a"))
  }

  @Test("OFFLINE counts once no position can follow it")
  mutating func early() {
    _ = pauseState.pause(note)
    #expect(pauseState.acceptedOffline(of: "a", isEarly: true) == nil)
    #expect(pauseState.isOfflinePending(for: "a") && pauseState.isAcceptedEarly)
    #expect(pauseState.acceptedOffline(of: "a", isEarly: false)?.offline == "a")
    #expect(!pauseState.isAcceptedEarly)
    #expect(pauseState.acceptedOffline(of: "b", isEarly: true) == nil)
    pauseState.vehicleChanged()
    #expect(pauseState.isOfflinePending(for: "b") && !pauseState.isAcceptedEarly)
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
