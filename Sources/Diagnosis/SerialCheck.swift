// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import Glibc
import SerialPort
import SystemCalls
import Timekeeping

/// A receiver on a serial port: examines the device, and reads it if no other program has it open.
struct SerialCheck: Check {
  let name: String
  let settings: SerialSettings
  let environment: Doctor.Environment

  var subject: Doctor.Subject { .source }
  var title: String { "\(name): serial receiver \(device)" }

  private var device: String { settings.device }

  func run(_ report: (Finding) -> Void) {
    var status: DeviceStatus
    do throws(DeviceStatus.Refusal) {
      status = try DeviceStatus.of(device)
      if let view = environment.rootObservations { status.classes = view.classes.names(of: status.major) }
    } catch {
      return report(DeviceFindings.finding(device, error, present: ports))
    }
    let user = environment.serviceUser ?? environment.currentUser
    let isAccessible = ServiceImpersonation.isActive ? FileAccess.error(status.resolvedPath, R_OK | W_OK) == nil : nil
    let all = environment.rootObservations?.holders ?? DeviceHolders()
    let holders = all.holders(of: status.resolvedPath)
    let findings = DeviceFindings.findings(
      device, status, for: user, isService: environment.serviceUser != nil, isAccessible: isAccessible,
      isOpenInService: DeviceFindings.isOpenInService(holders, unit: environment.unit))
    for finding in findings { report(finding) }
    guard status.kind == .characterDevice, DeviceFindings.mayBeReceiver(status) else { return }
    let (held, isFree) = DeviceFindings.findings(
      heldBy: holders, isComplete: all.isComplete, unit: environment.unit)
    for finding in held { report(finding) }
    guard isFree else { return }
    guard !environment.isDaemonRunning else {
      return report(.pass("it is left to the running daemon, whose problems are under Service"))
    }
    guard isAccessible ?? DeviceFindings.mayOpen(status, environment.currentUser) else {
      return report(.warn(.notExamined, "it is not read: this user may not open it", "Run this as root"))
    }
    for finding in listen(isCommandPort: status.isCommandPort) { report(finding) }
  }

  /// The serial ports of this machine; nil if none is known, because only root sees the built-in ones.
  private var ports: [String]? {
    let ports = environment.rootObservations?.ports ?? ReceiverSearch.ports
    return ports.isEmpty && environment.rootObservations == nil && geteuid() != 0 ? nil : ports
  }

  private func listen(isCommandPort: Bool) -> [Finding] {
    let loop = environment.loop
    do {
      let listener = try ReceiverListener(device, baud: settings.baud, loop: loop)
      defer { listener.close() }
      while !listener.isDone {
        try loop.run(until: listener.probe.nextDeadline) { listener.loss != nil }
        try listener.advance()
      }
      if let loss = listener.loss {
        return [.fail(.deviceLost, "lost during the check: \(loss.message)", "Check its plug and its power")]
      }
      return listener.probe.findings(buildDate: environment.buildDate, isCommandPort: isCommandPort)
    } catch let error as SerialPortError {
      return [refusal(error)]
    } catch {
      return [.fail(.checkFailed, "\(error)", "Close other programs, and try again")]
    }
  }

  private func refusal(_ error: SerialPortError) -> Finding {
    switch error.code {
    case .busy: .fail(.deviceInUse, "another program has exclusive access to it", "Run this as root to see which one")
    case .permissionDenied where error.cause?.code == EPERM:
      .fail(
        .deviceDenied, "the service's unit does not allow the device (DevicePolicy=)",
        "With systemctl edit fleet-locationd add under [Service]: DeviceAllow=\(device) rw, or its class")
    case .badBaud: .fail(.baudUnsupported, error.message, "Set source.baud = \"auto\"")
    default: .fail(.deviceUnusable, "it cannot be opened: \(error.message)", "Check source.device")
    }
  }
}
