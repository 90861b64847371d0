// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import FixSources
import SerialPort
import SystemCalls

/// The serial port of a receiver, and the watch for its device file.
package final class SerialLine: SourceLine {
  private let loop: EventLoop
  private let device: String
  private let handlers: LineHandlers
  private var port: SerialPort?
  private var watch: PathWatch?

  package init(loop: EventLoop, device: String, handlers: LineHandlers) {
    self.loop = loop
    self.device = device
    self.handlers = handlers
  }

  package func perform(_ operation: LineOperation) {
    switch operation {
    case .open(let baud): if let baud { open(at: baud) }
    case .setBaud(let baud): setBaud(baud)
    case .close: port = nil
    case .pause: port?.pause()
    case .read:
      port?.readNow()
      handlers.pass(.drained)
    case .watch: port?.watch()
    case .end:
      watch?.close()
      watch = nil
      port = nil
    case .awaitBytes, .send, .rejoin, .modem: break
    }
  }

  private func open(at baud: Int) {
    if watch == nil {
      watch = PathWatch(loop: loop, path: device) { [handlers] in handlers.pass(.appeared) }
    }
    do {
      let port = try SerialPort(
        loop: loop, path: device, baud: baud, onBytes: { [handlers] in handlers.receive($0, .peer) },
        onEnd: { [weak self] error in
          self?.port = nil
          self?.handlers.pass(.ended(error.message))
        })
      self.port = port
      handlers.pass(.opened(isTerminal: port.isTerminal))
    } catch {
      handlers.pass(.openFailed(error.message))
    }
  }

  private func setBaud(_ baud: Int) {
    do {
      try port?.setBaud(baud)
    } catch {
      // Other errors end the connection to the port, which is reported separately.
      if error.code == .badBaud { handlers.pass(.baudRefused) }
    }
  }
}
