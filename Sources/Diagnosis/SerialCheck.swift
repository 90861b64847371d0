// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import Glibc
import SerialPort
import SystemCalls
import Timekeeping

/// A receiver on a serial line: looked at, and listened to when nobody else has it.
struct SerialCheck: Check {
  let name: String
  let settings: SerialSettings
  let surroundings: Doctor.Surroundings

  var title: String { "\(name): serial receiver \(device)" }

  private var device: String { settings.device }

  func run(_ report: (Finding) -> Void) {
    var status: DeviceStatus
    do throws(DeviceStatus.Refusal) {
      status = try DeviceStatus.of(device)
      if let view = surroundings.rootView { status.classes = view.classes.names(of: status.major) }
    } catch {
      return report(DeviceFindings.finding(device, error))
    }
    let user = surroundings.serviceUser ?? surroundings.currentUser
    let opens = ServiceStandIn.isThis ? FileAccess.refusal(status.resolvedPath, R_OK | W_OK) == nil : nil
    let findings = DeviceFindings.findings(
      device, status, for: user, isService: surroundings.serviceUser != nil, opens: opens)
    for finding in findings { report(finding) }
    guard status.kind == .characterDevice else { return }
    let holders = surroundings.rootView?.holders ?? DeviceHolders()
    let (held, isFree) = DeviceFindings.findings(
      heldBy: holders.holders(of: status.resolvedPath), isComplete: holders.isComplete)
    for finding in held { report(finding) }
    guard isFree else { return }
    guard !surroundings.isDaemonRunning else {
      return report(.pass("the running daemon opens it, and reports under Service what it receives"))
    }
    guard opens ?? DeviceFindings.mayOpen(status, surroundings.currentUser) else {
      return report(.warn("it is not listened to: this user may not open it", "Run this as root"))
    }
    for finding in listen() { report(finding) }
  }

  private func listen() -> [Finding] {
    let loop = surroundings.loop
    // Nothing can come before the loop turns.
    var hearing = ReceiverHearing(baud: settings.baud, isTerminal: true, at: loop.now.boot)
    var loss: SerialPortError?
    do {
      let port = try SerialPort(
        loop: loop, path: device, baud: hearing.baud ?? 9600,
        onBytes: { hearing.receive($0, at: loop.now) }, onEnd: { loss = $0 })
      if !port.isTerminal { hearing = ReceiverHearing(baud: nil, isTerminal: false, at: loop.now.boot) }
      while !hearing.isDone, loss == nil {
        try loop.turn(until: hearing.nextDeadline) { loss != nil }
        var next = hearing.advance(at: loop.now)
        while let speed = next {
          next = nil
          do {
            try port.setBaud(speed)
          } catch {
            guard error.code == .badBaud else { throw error }
            next = hearing.refused()
          }
        }
      }
      port.close()
    } catch let error as SerialPortError {
      return [refusal(error)]
    } catch {
      return [.fail("\(error)", "Close other programs, and try again")]
    }
    if let loss { return [.fail("while it was listened to: \(loss.message)", "Check its plug and its power")] }
    return hearing.findings(buildDate: surroundings.buildDate)
  }

  private func refusal(_ error: SerialPortError) -> Finding {
    switch error.code {
    case .busy: .fail("another program has it for itself", "Run this as root to see which")
    case .denied where error.cause?.code == EPERM:
      .fail(
        "the unit of the service does not allow it (DevicePolicy=)",
        "With systemctl edit fleet-locationd add under [Service]: DeviceAllow=\(device) rw, or its class")
    case .badBaud: .fail(error.message, "Set source.baud = \"auto\"")
    default: .fail("it cannot be opened: \(error.message)", "Check source.device")
    }
  }
}
