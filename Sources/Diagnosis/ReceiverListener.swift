// SPDX-License-Identifier: Apache-2.0
import EventLoop
import SerialPort
import SystemCalls
import Timekeeping

/// A receiver that is open and read, and never written to, until its probe is done.
@MainActor final class ReceiverListener {
  private(set) var probe: ReceiverProbe
  /// Why the device is gone; nil while it is there.
  private(set) var loss: SerialPortError?
  private let loop: EventLoop
  private var port: SerialPort?

  /// - Parameter baud: nil to detect it.
  /// - Throws: why the device cannot be opened.
  init(_ device: String, baud: Int?, loop: EventLoop) throws(SerialPortError) {
    self.loop = loop
    probe = ReceiverProbe(baud: baud, isTerminal: true, at: loop.now.boot)
    let port = try SerialPort(
      loop: loop, path: device, baud: probe.baud ?? 9600,
      onBytes: { [weak self] in self?.probe.receive($0, at: loop.now) }, onEnd: { [weak self] in self?.loss = $0 })
    // No byte arrives before the loop runs.
    if !port.isTerminal { probe = ReceiverProbe(baud: nil, isTerminal: false, at: loop.now.boot) }
    self.port = port
  }

  /// Whether nothing more is read.
  var isDone: Bool { port == nil || probe.isDone || loss != nil }

  /// Handles the passage of time, and closes the device at the end.
  func advance() throws(SerialPortError) {
    guard !isDone, let port else { return close() }
    var next = probe.advance(at: loop.now)
    while let baud = next {
      next = nil
      do {
        try port.setBaud(baud)
      } catch {
        guard error.code == .badBaud else { throw error }
        next = probe.refused()
      }
    }
    if isDone { close() }
  }

  /// Closes the device; nothing more is read.
  func close() {
    port?.close()
    port = nil
  }
}
