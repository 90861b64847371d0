// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import SystemCalls
import Testing

@testable import SerialPort

struct DeviceStatusTests {
  private static func refusal(_ path: String) -> DeviceStatus.Refusal? {
    do throws(DeviceStatus.Refusal) {
      _ = try DeviceStatus.of(path)
      return nil
    } catch {
      return error
    }
  }

  @Test("the command ports of modems are recognized in udev's database")
  func commandPorts() {
    for type in ["PRIMARY", "SECONDARY", "PPP"] {
      expect(DeviceStatus.isCommandPort(["S:serial/by-id/x", "E:ID_MM_PORT_TYPE_AT_\(type)=1"]))
    }
    for line in ["E:ID_MM_PORT_TYPE_GPS=1", "E:ID_MM_PORT_TYPE_AT_PRIMARY=0", "E:ID_MM_CANDIDATE=1", ""] {
      expect(!DeviceStatus.isCommandPort([line]))
    }
  }

  @Test("a device is examined through a symbolic link, and its class is reported")
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

  @Test("this process is not listed among the processes that have a device open")
  func holders() throws {
    let terminal = try PseudoTerminal()
    let descriptor = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(descriptor) }
    let holders = DeviceHolders().holders(of: terminal.path)
    // A program that another test is starting has copies of all descriptors until exec.
    let own = SystemFile.lines("/proc/self/comm").first
    expectEqual(holders.filter { $0.processID == getpid() || $0.program != own }, [])
  }

  @Test(
    "a process that has a container's pseudo-terminal with the same path open is not listed",
    .enabled(if: geteuid() == 0, "mounting a file system requires root"))
  func container() throws {
    let terminal = try PseudoTerminal()
    let number = try #require(terminal.path.split(separator: "/").last.flatMap { Int($0) })
    let script = """
      import fcntl, os, struct, sys
      masters = [os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY) for _ in range(\(number + 1))]
      # TIOCSPTLCK: it may be opened.
      fcntl.ioctl(masters[-1], 0x40045431, struct.pack("i", 0))
      terminal = os.open("/dev/pts/\(number)", os.O_RDWR | os.O_NOCTTY)
      os.write(1, b"ready\\n")
      sys.stdin.read()
      """
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = [
      "--mount", "sh", "-c",
      "mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts && exec python3 -c \"$0\"", script,
    ]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    defer {
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
    try #require(output.fileHandleForReading.availableData == Data("ready\n".utf8))
    let own = SystemFile.lines("/proc/self/comm").first
    let holders = DeviceHolders().holders(of: terminal.path)
    expectEqual(holders.filter { $0.processID == getpid() || $0.program != own }, [])
  }

  @Test("the pseudo-terminal of a master is found in the fdinfo of its descriptor")
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
