// SPDX-License-Identifier: Apache-2.0
package import SerialPort
package import SystemCalls

/// What to make of a device that has only been looked at: is it there, is it one, may the service open it, who has it?
package enum DeviceFindings {
  /// The classes of device that the unit allows (`DeviceAllow=` in systemd/fleet-locationd.service). `pts` is in what
  /// `DevicePolicy=closed` allows everybody.
  package static let allowedClasses: Set<String> = ["ttyUSB", "ttyACM", "ttyS", "ttyAMA", "ttymxc", "gnss", "pts"]
  /// As the kernel cuts the names of processes: to 15 bytes.
  package static let serviceProgram = "fleet-locationd"

  /// Why there is no device.
  package static func finding(_ path: String, _ refusal: DeviceStatus.Refusal) -> Finding {
    switch refusal {
    case .missing:
      .fail(
        "\(path): there is no such device",
        "Plug the receiver in, and look for it with: ls -l /dev/serial/by-id; the service goes on by itself when it "
          + "comes")
    case .dangling(let target):
      .fail(
        "\(path) is a link to \(target), which is not there",
        "The receiver was unplugged, or a link made by hand is out of date: ls -l /dev/serial/by-id")
    case .denied:
      .warn("\(path): a directory on the way to it is closed to this user", "Run this as root")
    case .failed(let error):
      .fail("\(path): cannot be looked at: \(error)", "Check source.device")
    }
  }

  /// What it is, and whether the service's user may open it.
  ///
  /// - Parameters:
  ///   - isService: whether the user is the service's; else it is whoever runs this.
  ///   - opens: what access(2) says, where it is asked as this user; nil: by owner, group and mode.
  ///   - groupName: names a group.
  package static func findings(
    _ path: String, _ status: DeviceStatus, for user: UserAccount, isService: Bool, opens: Bool? = nil,
    groupName: (UInt32) -> String? = UserAccount.name(ofGroup:)
  ) -> [Finding] {
    let way = status.resolvedPath == path ? path : "\(path) is \(status.resolvedPath)"
    switch status.kind {
    case .directory:
      return [.fail("\(way): this is a directory", "A receiver is a file such as /dev/ttyUSB0: set source.device")]
    case .other:
      return [.fail("\(way): this is not a device", "A recording is read with type = \"replay\"")]
    case .characterDevice: break
    }
    let joint = status.resolvedPath == path ? ": " : ", "
    var findings = [Finding.pass("\(way)\(joint)a character device (\(status.major), \(status.minor))")]
    if !status.classes.isEmpty, allowedClasses.isDisjoint(with: status.classes) {
      let name = status.classes.joined(separator: "\" or \"")
      findings.append(
        .warn(
          "its class is \"\(name)\", which the unit of the service does not allow",
          "With systemctl edit fleet-locationd add under [Service]: DeviceAllow=char-\(status.classes[0]) rw"))
    }
    findings.append(permission(status, for: user, isService: isService, opens, groupName))
    return findings
  }

  private static func permission(
    _ status: DeviceStatus, for user: UserAccount, isService: Bool, _ opens: Bool?, _ groupName: (UInt32) -> String?
  ) -> Finding {
    // In the service's user namespace (PrivateUsers=) all groups but its own have one number.
    let isHidden = opens != nil && !user.groups.contains(status.group)
    let group = isHidden ? "that ls -l shows" : groupName(status.group) ?? "group \(status.group)"
    let mode = "0" + String(status.mode & 0o777, radix: 8)
    let who = isService ? "the service's user \(user.name)" : "the user \(user.name)"
    if opens ?? mayOpen(status, user) {
      return .pass("\(who) may open it (" + (isHidden ? "" : "group \(group), ") + "mode \(mode))")
    }
    let isGroupOpen = status.mode & 0o060 == 0o060
    guard isGroupOpen, status.group != 0 else {
      return .fail(
        "\(who) may not open it: it is for its owner and the group \(group) with mode \(mode)",
        "With a udev rule give it GROUP=\"dialout\", MODE=\"0660\": docs/receivers.md has one")
    }
    return .fail(
      "\(who) may not open it: that takes the group \(group) (mode \(mode))",
      isService
        ? "With systemctl edit fleet-locationd add under [Service]: SupplementaryGroups=\(isHidden ? "GROUP" : group)"
        : "sudo usermod -aG \(group) \(user.name), then log in again; or run this as root")
  }

  /// As the kernel decides about reading and writing. Access lists are not looked at.
  package static func mayOpen(_ status: DeviceStatus, _ user: UserAccount) -> Bool {
    if user.id == 0 { return true }
    if user.id == status.owner { return status.mode & 0o600 == 0o600 }
    if user.groups.contains(status.group) { return status.mode & 0o060 == 0o060 }
    return status.mode & 0o006 == 0o006
  }

  /// Who has it open.
  ///
  /// - Parameter isComplete: whether everybody could be looked at.
  /// - Returns: the findings, and whether it is free to be listened to.
  package static func findings(heldBy holders: [DeviceHolder], isComplete: Bool) -> (findings: [Finding], isFree: Bool)
  {
    if holders.isEmpty {
      if isComplete { return ([.pass("no other program has it open")], true) }
      return ([.warn("whether another program has it open cannot be seen by this user", "Run this as root")], true)
    }
    let isRead = holders.contains { $0.program == serviceProgram }
    return (
      holders.map { holder in
        let name =
          "\(holder.program) (process \(holder.processID)\(holder.service.map { ", \($0)" } ?? ""))"
        if holder.program == serviceProgram {
          return .pass("\(name) reads it, as it should; what it hears says: fleet-locationctl status")
        }
        let sentence = "\(name) has it open" + (isRead ? " too: two readers take the bytes from each other" : "")
        return .fail(sentence, advice(holder))
      }, false
    )
  }

  private static func advice(_ holder: DeviceHolder) -> String {
    switch holder.program {
    case "gpsd":
      "Take the positions from gpsd: type = \"gpsd\", address = \"localhost:2947\"; or: systemctl disable --now "
        + "gpsd.socket gpsd"
    case "ModemManager":
      "Tell it to leave the port alone with a udev rule, ENV{ID_MM_DEVICE_IGNORE}=\"1\": docs/receivers.md has one"
    default:
      holder.service.map { "systemctl stop \($0), or give the receiver to one of the two" }
        ?? "End it: kill \(holder.processID)"
    }
  }
}
