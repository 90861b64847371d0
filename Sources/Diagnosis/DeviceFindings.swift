// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Glibc
package import SerialPort
package import SystemCalls

/// Findings about a device that is not opened: whether it exists, is a device, may be opened by the service, and which
/// program has it open.
package enum DeviceFindings {
  /// The classes of device that the unit allows (`DeviceAllow=` in systemd/fleet-locationd.service). `pts` is
  /// always allowed by `DevicePolicy=closed`.
  package static let allowedClasses: Set<String> = ["ttyUSB", "ttyACM", "ttyS", "ttyAMA", "ttymxc", "gnss", "pts"]
  private static let nonReceiverClasses: Set<String> = ["mem", "misc", "input", "alsa", "fb", "drm", "vcs"]

  /// Whether a device may be a receiver, by its class; /dev/null may not.
  static func mayBeReceiver(_ status: DeviceStatus) -> Bool { nonReceiverClasses.isDisjoint(with: status.classes) }

  /// How many serial ports a finding names.
  private static let maxPorts = 8

  /// The daemon's name as a process; the kernel truncates such names to 15 bytes.
  package static let serviceProgram = "fleet-locationd"

  /// Why the device cannot be found.
  ///
  /// - Parameter present: the serial ports of this machine; nil if they are not known.
  package static func finding(
    _ path: String, _ refusal: DeviceStatus.Refusal, present ports: [String]? = nil
  ) -> Finding {
    let list =
      ports.map { ports -> String in
        guard !ports.isEmpty else { return ": this machine has no serial port at present" }
        let more = ports.count > maxPorts ? " and \(ports.count - maxPorts) more" : ""
        return ": the serial ports of this machine are \(ports.prefix(maxPorts).joined(separator: ", "))\(more)"
      } ?? ""
    return switch refusal {
    case .missing:
      .fail(
        .deviceMissing, "\(path): there is no such device",
        "Plug the receiver in, or correct source.device\(list); the service continues by itself when it appears")
    case .dangling(let target):
      .fail(
        .deviceMissing, "\(path) is a link to \(target), which does not exist",
        "The receiver was unplugged, or a manually created link is out of date\(list)")
    case .permissionDenied:
      .warn(.notExamined, "\(path): this user may not access its directory", "Run this as root")
    case .failed(let error):
      .fail(.deviceUnusable, "\(path): cannot be examined: \(error)", "Check source.device")
    }
  }

  /// Findings about the kind of the file, and whether the user may open it.
  ///
  /// - Parameters:
  ///   - isService: whether the user is the service's; otherwise it is the user who runs this.
  ///   - isAccessible: the result of access(2), if this process runs as the user; nil to determine it from owner, group
  ///     and mode.
  ///   - isOpenInService: whether the service has it open, so that the unit, perhaps with a drop-in, allows its class.
  ///   - groupName: returns the name of a group.
  package static func findings(
    _ path: String, _ status: DeviceStatus, for user: UserAccount, isService: Bool, isAccessible: Bool? = nil,
    isOpenInService: Bool = false, groupName: (UInt32) -> String? = UserAccount.name(ofGroup:)
  ) -> [Finding] {
    let location = status.resolvedPath == path ? path : "\(path) is \(status.resolvedPath)"
    switch status.kind {
    case .directory:
      return [
        .fail(
          .deviceUnusable, "\(location): this is a directory",
          "A receiver is a file such as /dev/ttyUSB0: set source.device")
      ]
    case .other:
      return [.fail(.deviceUnusable, "\(location): this is not a device", "To read a recording, set type = \"replay\"")]
    case .characterDevice: break
    }
    guard mayBeReceiver(status) else {
      return [
        .fail(.deviceUnusable, "\(location): this is not a receiver", "Look for it with: ls -l /dev/serial/by-id")
      ]
    }
    let joint = status.resolvedPath == path ? ": " : ", "
    var findings = [Finding.pass("\(location)\(joint)a character device (\(status.major), \(status.minor))")]
    if !isOpenInService, !status.classes.isEmpty, allowedClasses.isDisjoint(with: status.classes) {
      let name = status.classes.joined(separator: "\" or \"")
      findings.append(
        .warn(
          .deviceClass, "its device class is \"\(name)\", which the service's unit does not allow",
          "With systemctl edit fleet-locationd add under [Service]: DeviceAllow=char-\(status.classes[0]) rw"))
    }
    findings.append(permission(status, for: user, isService: isService, isAccessible, groupName))
    return findings
  }

  private static func permission(
    _ status: DeviceStatus, for user: UserAccount, isService: Bool, _ isAccessible: Bool?,
    _ groupName: (UInt32) -> String?
  ) -> Finding {
    // In the service's user namespace (PrivateUsers=) all other groups appear as one number.
    let isHidden = isAccessible != nil && !user.groups.contains(status.group)
    let group = isHidden ? "that ls -l shows" : groupName(status.group) ?? "group \(status.group)"
    let mode = "0" + String(status.mode & 0o777, radix: 8)
    let who = isService ? "the service's user \(user.name)" : "the user \(user.name)"
    if isAccessible ?? mayOpen(status, user) {
      return .pass("\(who) may open it (" + (isHidden ? "" : "group \(group), ") + "mode \(mode))")
    }
    let isGroupOpen = status.mode & 0o060 == 0o060
    guard isGroupOpen, status.group != 0 else {
      return .fail(
        .deviceDenied, "\(who) may not open it: only its owner and the group \(group) may (mode \(mode))",
        status.isPseudoTerminal
          ? "The program that makes it sets its group and mode, socat with PTY,…,group=dialout,mode=660: "
            + "\(ManualPage.receivers)"
          : "With a udev rule give it GROUP=\"dialout\", MODE=\"0660\": \(ManualPage.receivers) has one")
    }
    return .fail(
      .deviceDenied, "\(who) may not open it: only the group \(group) may (mode \(mode))",
      isService
        ? "With systemctl edit fleet-locationd add under [Service]: SupplementaryGroups=\(isHidden ? "GROUP" : group)"
        : "sudo usermod -aG \(group) \(user.name), then log in again; or run this as root")
  }

  /// Whether the user may read and write the device, by its owner, group and mode. Access control lists are ignored.
  package static func mayOpen(_ status: DeviceStatus, _ user: UserAccount) -> Bool {
    if user.id == 0 { return true }
    if user.id == status.owner { return status.mode & 0o600 == 0o600 }
    if user.groups.contains(status.group) { return status.mode & 0o060 == 0o060 }
    return status.mode & 0o006 == 0o006
  }

  /// Findings about the programs that have the device open.
  ///
  /// - Parameters:
  ///   - isComplete: whether all processes could be examined.
  ///   - unit: the service's; nil for any service of the package.
  /// - Returns: the findings, and whether no program has it open, so that it may be read.
  package static func findings(
    heldBy holders: [DeviceHolder], isComplete: Bool, unit: String? = nil
  ) -> (findings: [Finding], isFree: Bool) {
    if holders.isEmpty {
      if isComplete { return ([.pass("no other program has it open")], true) }
      return (
        [.warn(.notExamined, "this user cannot see whether another program has it open", "Run this as root")], true
      )
    }
    let isReadByDaemon = holders.contains { isDaemon($0, of: unit) }
    return (
      holders.map { holder in
        let name =
          "\(holder.program) (process \(holder.processID)\(holder.service.map { ", \($0)" } ?? ""))"
        if holder.isFeeding { return .pass("\(name) feeds this pseudo-terminal") }
        if isDaemon(holder, of: unit) {
          return .pass("\(name) has it open, as it should; fleet-locationctl status shows what it receives")
        }
        let sentence =
          "\(name) has it open" + (isReadByDaemon ? " too: with two readers each gets only part of the data" : "")
        return .fail(.deviceInUse, sentence, advice(holder))
      }, holders.allSatisfy(\.isFeeding)
    )
  }

  /// Whether one of them is the daemon in a service, which `DeviceAllow=` applies to.
  package static func isOpenInService(_ holders: [DeviceHolder], unit: String?) -> Bool {
    holders.contains { $0.service != nil && isDaemon($0, of: unit) }
  }

  /// Whether this is the daemon of the unit, or of any service of the package, or runs without a service. Any process
  /// can have the daemon's name, but not in a service of the package.
  private static func isDaemon(_ holder: DeviceHolder, of unit: String? = nil) -> Bool {
    guard holder.program == serviceProgram else { return false }
    guard let service = holder.service else { return true }
    return unit.map { $0 == service } ?? service.hasPrefix(serviceProgram)
  }

  private static func advice(_ holder: DeviceHolder) -> String {
    switch holder.program {
    case "gpsd":
      "Read the positions from gpsd: type = \"gpsd\", address = \"localhost:2947\"; or: systemctl mask --now "
        + "gpsd.socket gpsd.service"
    case "ModemManager":
      "Make it ignore the receiver with a udev rule, ENV{ID_MM_DEVICE_IGNORE}=\"1\", or this port of a modem, "
        + "ENV{ID_MM_PORT_IGNORE}=\"1\": \(ManualPage.receivers) says how"
    case serviceProgram where isDaemon(holder):
      "It is the service of another vehicle: let both read the positions from gpsd: \(ManualPage.receivers) says how"
    default:
      // Without logind, what was started over ssh runs in the service of sshd.
      if let service = holder.service, !service.hasPrefix("ssh") {
        "\(command(ending: service)), or let only one of the two use the receiver"
      } else {
        "End it: kill \(holder.processID)"
      }
    }
  }

  /// The command that ends a service for good: systemd cannot mask a unit that has a file in /etc/systemd/system, and
  /// udev or a generator starts some that are disabled, such as `serial-getty@ttyS0.service`.
  private static func command(ending service: String) -> String {
    FileAccess.error("/etc/systemd/system/\(service)", F_OK) == nil
      ? "systemctl disable --now \(service)" : "systemctl mask --now \(service) (unmask undoes this)"
  }
}
