// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A receiver with ten fixes a second, in real time, as long as the test calls `pump`.
final class LiveTrack {
  private let receiver: Receiver
  private var drive: NMEADrive
  private var next = ContinuousClock.now
  /// The positions that were sent: the time of the fix, and when it was sent.
  private(set) var sent: [(time: Date, at: ContinuousClock.Instant)] = []

  init(_ receiver: Receiver) {
    self.receiver = receiver
    drive = NMEADrive()
    drive.period = 0.1
    drive.step = 0.000_01
  }

  /// Sends the fixes that are due; while no program reads the device, none is sent or counted.
  func pump() {
    let now = ContinuousClock.now
    while next <= now {
      next += .milliseconds(100)
      let time = drive.date
      let text = drive.next()
      guard receiver.isOpened else { continue }
      receiver.send(text)
      sent.append((time, now))
    }
  }
}
