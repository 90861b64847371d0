// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A receiver with fixes in real time, as long as the test calls `pump`.
final class LiveTrack {
  let receiver: Receiver
  private var drive = NMEADrive()
  /// When the next fix is due; nil: at the next call of `pump`.
  private var next: ContinuousClock.Instant?
  /// The times of the fixes that were sent since `replug`.
  private(set) var sent: [Date] = []

  /// - Parameter period: seconds between fixes.
  init(_ receiver: Receiver, period: Double = 0.1, longitude: Double = 11.5) {
    self.receiver = receiver
    drive.period = period
    drive.step = period / 10_000
    drive.longitude = longitude
  }

  /// Sends the fixes that are due; while no program reads the device, none is sent or counted.
  func pump() {
    let now = ContinuousClock.now
    var due = next ?? now
    while due <= now {
      due += .seconds(drive.period)
      send()
    }
    next = due
  }

  /// Sends one fix. The next one follows it by a period, but only when the test calls `pump`: if the first fix was read
  /// late, the filter would take punctual ones for fixes from the future.
  func sendFirst() {
    send()
    next = nil
  }

  /// Plugs the receiver in again: nothing that it sent before will be read, and its clock is right.
  func replug() throws {
    receiver.unplug()
    try receiver.plugIn()
    sent = []
    while drive.date < Date() { _ = drive.next() }
    next = nil
  }

  private func send() {
    let time = drive.date
    let text = drive.next()
    guard receiver.isOpened else { return }
    receiver.send(text)
    sent.append(time)
  }
}
