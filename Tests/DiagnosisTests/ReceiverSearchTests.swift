// SPDX-License-Identifier: Apache-2.0
import CPseudoTerminal
import EventLoop
import Expectations
import FileTesting
import Foundation
import Glibc
import MessageBus
import SystemCalls
import Testing
import Timekeeping

@testable import Configuration
@testable import Diagnosis

@MainActor @Suite(.serialized) struct ReceiverSearchTests {
  /// The receiver's end of a serial line.
  private final class Line {
    let descriptor: Int32
    let device: String

    init() throws {
      var path = [CChar](repeating: 0, count: 128)
      descriptor = fleet_pty_open(&path, path.count)
      try #require(descriptor >= 0)
      device = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    func send(_ text: String) { _ = write(descriptor, text, text.utf8.count) }

    /// Whether the device was opened as a receiver: it is in raw mode, without line editing.
    var isOpened: Bool {
      var settings = termios()
      return tcgetattr(descriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON) == 0
    }

    /// Whether anything was written to the device.
    var hasReceived: Bool {
      var byte: UInt8 = 0
      return read(descriptor, &byte, 1) > 0
    }
  }

  private func environment(serviceUser: UserAccount? = nil) throws -> Doctor.Environment {
    Doctor.Environment(
      loop: try EventLoop(), serviceUser: serviceUser, currentUser: .current, buildDate: Timestamp(seconds: 0),
      isDaemonRunning: false)
  }

  @Test("ports are listed by their stable names; ports of other device classes are omitted")
  func ports() throws {
    let directory = try TemporaryDirectory()
    for name in ["ttyUSB0", "ttyUSB1", "ttyACM0", "ttyAMA0", "gnss0", "ttyS0", "ttyS1", "tty1", "ttyUSBx", "null"] {
      try directory.write("", to: name)
    }
    try FileManager.default.createDirectory(atPath: directory("serial/by-id"), withIntermediateDirectories: true)
    expectEqual(symlink("../../ttyUSB1", directory("serial/by-id/usb-u-blox")), 0)
    expectEqual(
      ReceiverSearch.ports(
        in: directory.path,
        kernelLines: [
          "serinfo:1.0 driver revision:", "0: uart:unknown port:000003F8 irq:4", "1: uart:16550A port:000002F8 irq:3",
        ]
      ),
      [
        directory("serial/by-id/usb-u-blox"), directory("gnss0"), directory("ttyACM0"), directory("ttyAMA0"),
        directory("ttyS1"), directory("ttyUSB0"),
      ])
    expect(ReceiverSearch.ports(in: directory("nowhere"), kernelLines: []).isEmpty)
  }

  @Test(
    "if the device is missing, doctor names all ports that root sees, including those that the service's sandbox hides")
  func seenByRoot() throws {
    var environment = try environment()
    var observations = RootObservations(ServiceStatus(unit: "fleet-locationd.service"))
    observations.ports = ["/dev/ttyS7"]
    environment.rootObservations = observations
    let settings = SerialSettings(device: "/dev/nowhere")
    var findings: [Finding] = []
    SerialCheck(name: "Source", settings: settings, environment: environment).run { findings.append($0) }
    expectEqual(findings.map(\.code), [.deviceMissing])
    expectEqual(findings[0].advice?.contains("the serial ports of this machine are /dev/ttyS7;"), true)
  }

  @Test("a listener whose port was closed is done, so it does not delay the search")
  func closed() throws {
    let line = try Line()
    let listener = try ReceiverListener(line.device, baud: nil, loop: try EventLoop())
    expect(!listener.isDone)
    listener.close()
    expect(listener.isDone)
  }

  @Test(
    "a port of its owner alone is not usable by the service; one of a group may be, because the unit may add the group",
    .enabled(if: geteuid() == 0, "needs root, to give a port to a group"))
  func closedToService() throws {
    let line = try Line()
    for (group, mode, isUsable, codes) in [
      (0, 0o600, false, [.deviceDenied]), (4242, 0o660, true, []), (4343, 0o660, true, [.deviceDenied]),
    ] as [(gid_t, mode_t, Bool, [Finding.Code])] {
      expectEqual(chown(line.device, 0, group), 0)
      expectEqual(chmod(line.device, mode), 0)
      let environment = try environment(serviceUser: UserAccount(name: "fleet-locationd", id: 999, groups: [4242]))
      var timer: LoopTimer?
      timer = try environment.loop.makeTimer {
        line.send("$GPGGA,120000.00,4807.0380,N,01131.0000,E,1,09,0.9,520.0,M,47.0,M,,*69\r\n")
        timer?.arm(at: environment.loop.now.boot + .milliseconds(200))
      }
      timer?.arm(at: environment.loop.now.boot)
      let found = ReceiverSearch(in: environment).serial([line.device])
      timer?.close()
      expectEqual(found.map(\.isUsable), [isUsable])
      expectEqual(found[0].findings.map(\.code).filter { $0 == .deviceDenied }, codes)
    }
  }

  @Test("all ports are read in parallel, and nothing is written to them; a port in use or missing is only reported")
  func serial() throws {
    let environment = try environment()
    let (receiver, second, held) = (try Line(), try Line(), try Line())
    let other = Process()
    other.executableURL = URL(filePath: "/bin/sleep")
    other.arguments = ["60"]
    other.standardInput = FileHandle(forReadingAtPath: held.device)
    try other.run()
    defer { other.terminate() }
    var wereBothOpen = false
    var timer: LoopTimer?
    timer = try environment.loop.makeTimer {
      if receiver.isOpened, second.isOpened { wereBothOpen = true }
      receiver.send("$GPGGA,120000.00,4807.0380,N,01131.0000,E,1,09,0.9,520.0,M,47.0,M,,*69\r\n")
      second.send("$GPGSV,1,1,03,05,40,120,30*4B\r\n")
      timer?.arm(at: environment.loop.now.boot + .milliseconds(200))
    }
    timer?.arm(at: environment.loop.now.boot)
    let found = ReceiverSearch(in: environment).serial([second.device, receiver.device, held.device, "/dev/nowhere"])
    timer?.close()
    expect(wereBothOpen)
    expectEqual(found.map(\.isUsable), [false, true, false, false])
    expectEqual(found[0].findings.map(\.code), [.noPositionSentences, .ok])
    expect(found[1].findings[0].sentence.contains("GGA of GP (GPS)"), "\(found[1].findings)")
    expectEqual(found[2].findings.map(\.code), [.deviceInUse])
    expect(found[2].findings[0].sentence.hasPrefix("sleep (process \(other.processIdentifier)"))
    expectEqual(found[3].findings.map(\.code), [.deviceMissing])
    for line in [receiver, second, held] { expect(!line.hasReceived) }
  }
}
