// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import ExternalInput
import SerialPort
import SystemCalls
import Timekeeping

/// A source of positions that was found on this machine.
package struct FoundSource: Equatable, Sendable {
  /// The kind of source.
  package enum Kind: Equatable, Sendable {
    /// The path of a serial port.
    case serial(String)
    case gpsd
    case modemManager
  }

  /// The kind of source.
  package let kind: Kind
  /// What was found out about it.
  package let findings: [Finding]

  package init(kind: Kind, findings: [Finding]) {
    self.kind = kind
    self.findings = findings
  }

  /// Whether the service could use it.
  package var isUsable: Bool { findings.allSatisfy { $0.severity != .fail } }
}

/// Finds the sources of positions of this machine: serial ports that send NMEA 0183, gpsd, and modems. Ports that
/// another program has open are not opened, and nothing is written to any.
@MainActor package struct ReceiverSearch {
  private let environment: Doctor.Environment

  package init(in environment: Doctor.Environment) {
    self.environment = environment
  }

  /// Everything that was found, usable or not.
  package func run() -> [FoundSource] {
    serial(ReceiverSearch.ports) + other(.gpsd) + other(.modemManager)
  }

  /// The serial ports of this machine.
  nonisolated static var ports: [String] { ports(in: "/dev", kernelLines: SystemFile.lines("/proc/tty/driver/serial")) }

  /// The classes of serial ports. Ports of class ttyS are added only if they exist in hardware.
  nonisolated private static let classes = ["ttyUSB", "ttyACM", "ttyAMA", "ttymxc", "gnss"]

  /// The serial ports, each under a name that does not change when other devices are plugged in, if it has one.
  ///
  /// - Parameter kernelLines: of /proc/tty/driver/serial: a PC has device files for more ports than there are.
  nonisolated static func ports(in directory: String, kernelLines: [String]) -> [String] {
    let builtIn = kernelLines.compactMap { line -> String? in
      guard line.contains(text: "uart:"), !line.contains(text: "uart:unknown") else { return nil }
      return "ttyS\(line.prefix { $0 != ":" })"
    }
    let links = (SystemFile.names(in: "\(directory)/serial/by-id") ?? []).filter { !$0.hasPrefix(".") }.sorted()
      .map { "\(directory)/serial/by-id/\($0)" }
    let named = Set(links.compactMap(SystemFile.resolved))
    let others = (SystemFile.names(in: directory) ?? [])
      .filter { name in
        builtIn.contains(name)
          || classes.contains { name.hasPrefix($0) && name.dropFirst($0.utf8.count).allSatisfy(\.isNumber) }
      }
      .sorted().map { "\(directory)/\($0)" }
    return links + others.filter { !named.contains(SystemFile.resolved($0) ?? $0) }
  }

  // MARK: - Serial ports

  /// Reads all ports at the same time.
  func serial(_ ports: [String]) -> [FoundSource] {
    let holders = DeviceHolders()
    var findings: [String: [Finding]] = [:]
    var listeners: [(port: String, listener: ReceiverListener)] = []
    var commandPorts: Set<String> = []
    var refusals: [String: [Finding]] = [:]
    for port in ports {
      do {
        let status = try DeviceStatus.of(port)
        let (held, isFree) = DeviceFindings.findings(
          heldBy: holders.holders(of: status.resolvedPath), isComplete: holders.isComplete, unit: environment.unit)
        guard isFree, holders.isComplete else {
          findings[port] = held
          continue
        }
        if status.isCommandPort { commandPorts.insert(port) }
        // Root may read what the service may not. Its unit may add groups, but no group may open a port of its owner.
        let isGroupOpen = status.mode & 0o060 == 0o060 && status.group != 0
        refusals[port] = environment.serviceUser.map { user in
          DeviceFindings.findings(port, status, for: user, isService: true).filter { $0.severity != .pass }
            .map { finding in isGroupOpen ? .warn(finding.code, finding.sentence, finding.advice ?? "") : finding }
        }
        listeners.append((port, try ReceiverListener(port, baud: nil, loop: environment.loop)))
      } catch let error as DeviceStatus.Refusal {
        findings[port] = [DeviceFindings.finding(port, error)]
      } catch let error as SerialPortError {
        findings[port] = [.fail(.deviceUnusable, "it cannot be opened: \(error.message)", "Check its plug")]
      } catch {
        findings[port] = [.fail(.checkFailed, "\(error)", "Close other programs, and try again")]
      }
    }
    while listeners.contains(where: { !$0.listener.isDone }) {
      let due = listeners.filter { !$0.listener.isDone }.map(\.listener.probe.nextDeadline).min()
      do {
        try environment.loop.run(until: due ?? environment.loop.now.boot) {
          listeners.contains { $0.listener.loss != nil && findings[$0.port] == nil }
        }
      } catch { break }
      for (port, listener) in listeners where findings[port] == nil {
        do {
          try listener.advance()
          if let loss = listener.loss {
            findings[port] = [.fail(.deviceLost, "lost: \(loss.message)", "Check its plug and its power")]
          }
        } catch {
          listener.close()
          findings[port] = [.fail(.deviceUnusable, error.message, "Check its plug and its power")]
        }
      }
    }
    for (port, listener) in listeners {
      listener.close()
      findings[port] =
        findings[port]
        ?? listener.probe.findings(buildDate: environment.buildDate, isCommandPort: commandPorts.contains(port))
    }
    return ports.map { FoundSource(kind: .serial($0), findings: (findings[$0] ?? []) + (refusals[$0] ?? [])) }
  }

  // MARK: - Other programs

  /// The result of the check of `doctor`; empty if the other program is not running, or has no modem.
  private func other(_ kind: FoundSource.Kind) -> [FoundSource] {
    let check: any Check =
      kind == .gpsd
      ? GPSDCheck(name: "", settings: GPSDSettings(), environment: environment)
      : ModemManagerCheck(name: "", settings: ModemManagerSettings(), environment: environment)
    var findings: [Finding] = []
    check.run { findings.append($0) }
    let isAbsent =
      findings.count == 1 && [.unreachable, .modemManagerFailed, .modemUnusable].contains(findings[0].code)
    return isAbsent ? [] : [FoundSource(kind: kind, findings: findings)]
  }
}
