// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import Glibc
import LoopTesting
import Testing

struct PathWatchTests {
  @Test("A device that appears in an existing directory is reported; other names are not")
  func appears() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    var changes = 0
    let watch = PathWatch(loop: loop, path: directory("ttyUSB0")) { changes += 1 }
    try directory.write("", to: "ttyUSB1")
    try loop.runUntilIdle()
    expectEqual(changes, 0)
    try directory.write("", to: "ttyUSB0")
    expect(try loop.runs { changes > 0 })
    try loop.runUntilIdle()
    changes = 0
    try directory.write("", to: "ttyUSB2")
    try loop.runUntilIdle()
    expectEqual(changes, 0)
    watch.close()
  }

  @Test(
    "A path whose directories appear one by one is reported once it exists, and again if it reappears after a removal"
  )
  func directoriesAppear() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    let serial = directory("serial")
    let byID = serial + "/by-id"
    var changes = 0
    let watch = PathWatch(loop: loop, path: byID + "/receiver") { changes += 1 }
    for round in 1...2 {
      changes = 0
      mkdir(serial, 0o700)
      try loop.runUntilIdle()
      mkdir(byID, 0o700)
      try loop.runUntilIdle()
      expectEqual(changes, 0)
      try directory.write("", to: "serial/by-id/receiver")
      expect(try loop.runs { changes > 0 }, "round \(round)")
      unlink(byID + "/receiver")
      rmdir(byID)
      rmdir(serial)
      try loop.runUntilIdle()
    }
    watch.close()
  }

  @Test("Directories and a device created between two iterations of the loop are not missed")
  func allAtOnce() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    var changes = 0
    let watch = PathWatch(loop: loop, path: directory("a/b/c")) { changes += 1 }
    mkdir(directory("a"), 0o700)
    mkdir(directory("a/b"), 0o700)
    try directory.write("", to: "a/b/c")
    expect(try loop.runs { changes > 0 })
    watch.close()
  }

  @Test("A link is followed, and a target that appears later or gets its permissions later is reported")
  func links() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    mkdir(directory("by-id"), 0o700)
    symlink("../ttyUSB0", directory("by-id/receiver"))
    var changes = 0
    let watch = PathWatch(loop: loop, path: directory("by-id/receiver")) { changes += 1 }
    try loop.runUntilIdle()
    expectEqual(changes, 0)
    let device = try directory.write("", to: "ttyUSB0")
    expect(try loop.runs { changes > 0 })
    try loop.runUntilIdle()
    changes = 0
    chmod(device, 0o660)
    expect(try loop.runs { changes > 0 })
    watch.close()
  }

  @Test("Circular links do not cause an endless search")
  func circle() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    symlink("b", directory("a"))
    symlink("a", directory("b"))
    let watch = PathWatch(loop: loop, path: directory("a")) { Issue.record("there is no such device") }
    try loop.runUntilIdle()
    watch.close()
  }
}
