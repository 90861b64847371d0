// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import SystemCalls
import Testing

@testable import SerialPort

@Suite struct DeviceStatusTests {
  private static func refusal(_ path: String) -> DeviceStatus.Refusal? {
    do throws(DeviceStatus.Refusal) {
      _ = try DeviceStatus.of(path)
      return nil
    } catch {
      return error
    }
  }

  @Test("a device is looked at through its links, and its class named")
  func device() throws {
    let terminal = try PseudoTerminal()
    let directory = try TemporaryDirectory()
    let link = directory("gps0")
    expectEqual(symlink(terminal.path, link), 0)
    let status = try DeviceStatus.of(link)
    expectEqual(status.kind, .characterDevice)
    expectEqual(status.resolvedPath, terminal.path)
    expectEqual(terminal.path, "/dev/pts/\(status.minor)")
    expect((136...143).contains(status.major))
    expectEqual(status.owner, geteuid())
    expectEqual(status.classes, ["pts"])
  }

  @Test("missing, dangling and non-device paths are distinguished")
  func others() throws {
    let directory = try TemporaryDirectory()
    let link = directory("gps0")
    expectEqual(symlink("../../ttyUSB7", link), 0)
    expectEqual(Self.refusal(directory("none")), .missing)
    expectEqual(Self.refusal(link), .dangling(target: "../../ttyUSB7"))
    try expectEqual(DeviceStatus.of(directory.path).kind, .directory)
    try expectEqual(DeviceStatus.of(directory.write("$", to: "drive.nmea")).kind, .other)
  }

  @Test("this process does not count among those that have a device open")
  func holders() throws {
    let terminal = try PseudoTerminal()
    let descriptor = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(descriptor) }
    expect(DeviceHolders().holders(of: terminal.path).isEmpty)
  }

  @Test("the terminal of a master is named in the kernel's description of the descriptor")
  func master() throws {
    let lines = ["pos:\t0", "flags:\t02100002", "mnt_id:\t28", "tty-index:\t7"]
    expectEqual(DeviceHolders.terminal(lines), "/dev/pts/7")
    expectNil(DeviceHolders.terminal(Array(lines.dropLast())))
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(master) }
    let real = SystemFile.lines("/proc/self/fdinfo/\(master)")
    expectEqual(DeviceHolders.terminal(real)?.hasPrefix("/dev/pts/"), true)
  }
}
