// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Expectations
import Foundation
import SerialPort
import SystemCalls
import Testing

struct DeviceFindingsTests {
  private static let service = UserAccount(name: "fleet-locationd", id: 990, groups: [20, 990])

  private static func status(
    kind: DeviceStatus.Kind = .characterDevice, owner: UInt32 = 0, group: UInt32 = 20, mode: UInt32 = 0o660,
    classes: [String] = ["ttyUSB"]
  ) -> DeviceStatus {
    DeviceStatus(
      resolvedPath: "/dev/ttyUSB1", kind: kind, owner: owner, group: group, mode: mode, major: 188, minor: 1,
      classes: classes)
  }

  private static func findings(_ status: DeviceStatus, for user: UserAccount = service) -> [Finding] {
    DeviceFindings.findings("/dev/gps0", status, for: user, isService: true) { $0 == 20 ? "dialout" : nil }
  }

  @Test("a receiver with udev's default permissions passes, and is shown with the target of its link")
  func good() {
    expectEqual(
      Self.findings(Self.status()),
      [
        .pass("/dev/gps0 is /dev/ttyUSB1, a character device (188, 1)"),
        .pass("the service's user fleet-locationd may open it (group dialout, mode 0660)"),
      ])
  }

  @Test("if the device is missing, the advice lists the serial ports that are present")
  func missing() {
    let ports = (1...9).map { "/dev/serial/by-id/usb-\($0)" }
    let one = DeviceFindings.finding("/dev/ttyUSB0", .missing, present: [ports[0]])
    expectEqual(one.advice?.contains("the serial ports of this machine are /dev/serial/by-id/usb-1;"), true)
    let many = DeviceFindings.finding("/dev/gps0", .dangling(target: "ttyUSB1"), present: ports)
    expectEqual(many.advice?.hasSuffix("/dev/serial/by-id/usb-8 and 1 more"), true)
    let none = DeviceFindings.finding("/dev/ttyUSB0", .missing, present: [])
    expectEqual(none.advice?.contains("no serial port at present"), true)
    expectEqual(
      DeviceFindings.finding("/dev/ttyUSB0", .missing).advice,
      "Plug the receiver in, or correct source.device; the service continues by itself when it appears")
  }

  @Test("if the user is not in the device's group, the finding names the group")
  func group() throws {
    let stranger = UserAccount(name: "fleet-locationd", id: 990, groups: [990])
    let finding = try #require(Self.findings(Self.status(), for: stranger).last)
    expectEqual(finding.severity, .fail)
    expect(finding.sentence.contains("group dialout"))
    expectEqual(finding.advice?.contains("SupplementaryGroups=dialout"), true)
  }

  @Test("the advice for a pseudo-terminal names the options of socat, because udev rules do not apply to it")
  func pseudoTerminal() {
    let finding = Self.findings(Self.status(group: 5, mode: 0o620, classes: ["pts"])).last
    expectEqual(finding?.severity, .fail)
    expectEqual(finding?.advice?.contains("PTY,…,group=dialout,mode=660"), true)
    expectEqual(finding?.advice?.contains("udev"), false)
  }

  @Test("if only root may open a device, the advice is to add a udev rule")
  func rootOnly() throws {
    for status in [Self.status(group: 0), Self.status(group: 4711, mode: 0o600)] {
      let finding = try #require(Self.findings(status).last)
      expectEqual(finding.severity, .fail)
      expectEqual(finding.advice?.contains("udev"), true)
    }
  }

  private struct Access: Sendable {
    var id: UInt32
    var groups: Set<UInt32>
    var mode: UInt32
    var may: Bool
  }

  @Test(
    "permissions are evaluated as in the kernel: the bits of the owner, otherwise of the group, otherwise of others",
    arguments: [
      Access(id: 0, groups: [], mode: 0o000, may: true), Access(id: 7, groups: [], mode: 0o600, may: true),
      Access(id: 7, groups: [20], mode: 0o060, may: false), Access(id: 990, groups: [20], mode: 0o660, may: true),
      Access(id: 990, groups: [20], mode: 0o646, may: false), Access(id: 990, groups: [5], mode: 0o666, may: true),
      Access(id: 990, groups: [5], mode: 0o664, may: false), Access(id: 990, groups: [20], mode: 0o640, may: false),
    ])
  private func access(_ access: Access) {
    let user = UserAccount(name: "other", id: access.id, groups: access.groups)
    expectEqual(DeviceFindings.mayOpen(Self.status(owner: 7, mode: access.mode), user), access.may)
  }

  @Test(
    "in the service's user namespace access(2) decides, because other groups are not mapped there"
  )
  func userNamespace() {
    let service = UserAccount(name: "fleet-locationd", id: 990, groups: [990])
    let hidden = Self.status(owner: 0, group: 65_534, mode: 0o660)
    for (isAccessible, severity) in [(true, Finding.Severity.pass), (false, .fail)] {
      let findings = DeviceFindings.findings(
        "/dev/ttyUSB0", hidden, for: service, isService: true, isAccessible: isAccessible, groupName: { _ in "nogroup" }
      )
      expectEqual(findings.last?.severity, severity)
      expectEqual(findings.last?.message.contains("nogroup"), false)
    }
    expectEqual(DeviceFindings.findings("/dev/ttyUSB0", hidden, for: service, isService: true).last?.severity, .fail)
  }

  @Test("a device class that the unit does not allow is reported with the line that allows it")
  func deviceClass() {
    let findings = Self.findings(Self.status(classes: ["ttySAC"]))
    expectEqual(findings.map(\.severity), [.pass, .warn, .pass])
    expectEqual(findings[1].advice?.contains("DeviceAllow=char-ttySAC rw"), true)
    let null = Self.findings(Self.status(classes: ["mem"]))
    expect(null.map(\.severity) == [.fail] && null[0].sentence.contains("is not a receiver"))
    // A drop-in of the unit may allow it: the service has it open.
    let open = DeviceFindings.findings(
      "/dev/gps0", Self.status(classes: ["ttySAC"]), for: Self.service, isService: true, isOpenInService: true
    ) { _ in "dialout" }
    expectEqual(open.map(\.severity), [.pass, .pass])
    let unit = "fleet-locationd.service"
    for (service, isOpen) in [(unit, true), (nil, false), ("x.service", false)] {
      let holder = DeviceHolder(processID: 7, program: "fleet-locationd", service: service)
      expectEqual(DeviceFindings.isOpenInService([holder], unit: unit), isOpen)
    }
    // If two classes share a major number, it is enough that one of them is allowed.
    expectEqual(Self.findings(Self.status(classes: ["tty", "ttyS"])).count, 2)
  }

  @Test("the allowed device classes are those of the systemd unit, and pseudo-terminals")
  func unit() throws {
    let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardized
    let unit = try String(contentsOf: root.appendingPathComponent("systemd/fleet-locationd.service"), encoding: .utf8)
    let classes = unit.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix("DeviceAllow=char-"), line.hasSuffix(" rw") else { return nil }
      return String(line.dropFirst("DeviceAllow=char-".count).dropLast(" rw".count))
    }
    expect(unit.contains("DevicePolicy=closed"))
    expectEqual(DeviceFindings.allowedClasses, Set(classes + ["pts"]))
  }

  @Test("a directory and a regular file are not devices", arguments: [DeviceStatus.Kind.directory, .other])
  func kinds(kind: DeviceStatus.Kind) {
    expectEqual(Self.findings(Self.status(kind: kind)).map(\.severity), [.fail])
  }

  @Test("a missing device, a dangling link and an inaccessible device have different findings")
  func refusals() {
    expectEqual(DeviceFindings.finding("/dev/gps0", .missing).sentence, "/dev/gps0: there is no such device")
    expectEqual(
      DeviceFindings.finding("/dev/gps0", .dangling(target: "ttyUSB0")).sentence,
      "/dev/gps0 is a link to ttyUSB0, which does not exist")
    expectEqual(DeviceFindings.finding("/dev/gps0", .permissionDenied).severity, .warn)
    expectEqual(DeviceFindings.finding("/dev/gps0", .failed(Errno(40))).severity, .fail)
  }

  @Test("a device that the service has open passes; one that another program has open fails, and the program is named")
  func holders() {
    let service = DeviceHolder(processID: 7, program: "fleet-locationd", service: "fleet-locationd.service")
    let gpsd = DeviceHolder(processID: 8, program: "gpsd", service: "gpsd.service")
    let cat = DeviceHolder(processID: 9, program: "cat", service: nil)
    let alone = DeviceFindings.findings(heldBy: [service], isComplete: true)
    expectEqual(alone.findings.map(\.severity), [.pass])
    expect(!alone.isFree)
    let both = DeviceFindings.findings(heldBy: [service, gpsd], isComplete: true)
    expectEqual(both.findings.map(\.severity), [.pass, .fail])
    expect(!both.isFree)
    expect(both.findings[1].sentence.hasPrefix("gpsd (process 8, gpsd.service) has it open too"))
    expectEqual(both.findings[1].advice?.contains("type = \"gpsd\""), true)
    let foreign = DeviceFindings.findings(heldBy: [cat], isComplete: false)
    expect(!foreign.isFree)
    expectEqual(foreign.findings[0].advice, "End it: kill 9")
  }

  @Test("a device held open by another vehicle's service is in use, and the advice is to share it through gpsd")
  func otherVehicle() {
    let holder = DeviceHolder(processID: 7, program: "fleet-locationd", service: "fleet-locationd.service")
    let other = DeviceFindings.findings(heldBy: [holder], isComplete: true, unit: "fleet-locationd@van-2.service")
    expect(!other.isFree)
    expectEqual(other.findings.map(\.code), [.deviceInUse])
    expectEqual(other.findings[0].advice?.contains("gpsd"), true)
    let own = DeviceFindings.findings(heldBy: [holder], isComplete: true, unit: "fleet-locationd.service")
    expectEqual(own.findings.map(\.severity), [.pass])
  }

  @Test(
    "the recommended command keeps the other program from the port after the next boot too, and never ends ssh",
    arguments: [
      ("gpsd", "gpsd.service", "systemctl mask --now gpsd.socket gpsd.service"),
      ("agetty", "serial-getty@ttyS0.service", "systemctl mask --now serial-getty@ttyS0.service (unmask undoes this)"),
      ("cat", "ssh.service", "End it: kill 9"),
    ])
  func lasting(program: String, service: String, command: String) {
    let holder = DeviceHolder(processID: 9, program: program, service: service)
    let finding = DeviceFindings.findings(heldBy: [holder], isComplete: true).findings[0]
    expectEqual(finding.advice?.contains(command), true)
  }

  @Test("a program with the daemon's name in a service of another name is not mistaken for the daemon")
  func disguised() {
    let other = DeviceHolder(processID: 7, program: "fleet-locationd", service: "x.service")
    let byHand = DeviceHolder(processID: 8, program: "fleet-locationd", service: nil)
    expectEqual(
      DeviceFindings.findings(heldBy: [other, byHand], isComplete: true).findings.map(\.severity), [.fail, .pass])
  }

  @Test("the name of a control group that cannot be a unit is in no command that is recommended to root")
  func disguisedCommand() {
    for name in ["a;id;.service", "$(id).service", "a b.service", "\u{1B}[2J.service"] {
      let holder = DeviceHolder(processID: 9, program: "cat", service: name)
      let finding = DeviceFindings.findings(heldBy: [holder], isComplete: true).findings[0]
      expect(finding.sentence == "cat (process 9) has it open" && finding.advice == "End it: kill 9", "\(finding)")
    }
    let escaped = DeviceHolder(processID: 9, program: "cat", service: #"a\x2db:c_d@e-1.service"#)
    expectEqual(escaped.service, #"a\x2db:c_d@e-1.service"#)
  }

  @Test(
    "the program that feeds a pseudo-terminal is not reported as a reader, whether or not the service has it open")
  func feeder() {
    let socat = DeviceHolder(processID: 9, program: "socat", service: nil, isFeeding: true)
    let feed = DeviceFindings.findings(heldBy: [socat], isComplete: true)
    expect(feed.isFree && feed.findings == [.pass("socat (process 9) feeds this pseudo-terminal")])
    let service = DeviceHolder(processID: 7, program: "fleet-locationd", service: "fleet-locationd.service")
    let read = DeviceFindings.findings(heldBy: [service, socat], isComplete: true)
    expect(!read.isFree && read.findings.map(\.severity) == [.pass, .pass])
    let cat = DeviceHolder(processID: 10, program: "cat", service: nil)
    expectEqual(
      DeviceFindings.findings(heldBy: [socat, cat], isComplete: true).findings.map(\.severity), [.pass, .fail])
  }

  @Test("a device that no visible process has open is free, with a warning if not all processes are visible")
  func free() {
    let seen = DeviceFindings.findings(heldBy: [], isComplete: true)
    expect(seen.isFree && seen.findings.map(\.severity) == [.pass])
    let unseen = DeviceFindings.findings(heldBy: [], isComplete: false)
    expect(unseen.isFree && unseen.findings.map(\.severity) == [.warn])
  }
}
