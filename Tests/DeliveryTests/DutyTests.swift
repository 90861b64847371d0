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
    #expect(ended?.pause == note && ended?.isTokenRenewed == false)
    #expect(duty.pause == nil)
    #expect(duty.resume() == nil)
  }

  @Test("a token's file that changes is read at once on duty, and after the pause off duty")
  mutating func token() {
    #expect(duty.tokenRenewed() == true)
    _ = duty.pause(note)
    #expect(duty.tokenRenewed() == false)
    #expect(duty.pause == note)
    #expect(duty.resume()?.isTokenRenewed == true)
    _ = duty.pause(note)
    #expect(duty.resume()?.isTokenRenewed == false)
  }

  @Test("a note that is read is the note that was written, and any other text is a pause of unknown beginning")
  func text() {
    #expect(PauseNote(text: note.text) == note)
    for text in ["", "\n", "unknown\n", "yesterday", "\u{0}\u{1}"] {
      #expect(PauseNote(text: text) == PauseNote(since: nil))
    }
  }
}
