// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

/// The driver goes off duty and comes back.
extension World {
  /// The shell has it on disk when the agent's effect is done: it does not wait as the backlog's store does.
  func keepPause(_ note: PauseNote?) {
    // It is text on disk.
    pauseNote = note.map { PauseNote(text: $0.text) }
    if pauseNote != nil {
      pausedAt = pausedAt ?? now
    } else if let began = pausedAt {
      offDuty.append(began...now)
      pausedAt = nil
    }
  }
}
