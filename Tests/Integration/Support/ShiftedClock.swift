// SPDX-License-Identifier: Apache-2.0
import FileTesting
import Foundation
import Glibc

/// Wrong clocks for one program, which preloads `machine_shim.c`.
final class ShiftedClock {
  private let path: String

  /// Compiled once for all tests, with the compiler that the package needs anyway.
  private static let shim = Result {
    let path = "/tmp/flit-machine-shim-\(getpid()).so"
    let process = try ChildProcess(
      "/usr/bin/cc",
      ["-O2", "-shared", "-fPIC", "-o", path, "\(ChildProcess.root)/Tests/Support/MachineShim/machine_shim.c"])
    guard try process.finish(within: .seconds(60)) == 0 else { throw TestFailure(process.errors.text) }
    atexit { unlink("/tmp/flit-machine-shim-\(getpid()).so") }
    return path
  }

  /// - Parameter wall: what the wall clock shows at the start; it runs from there.
  init(in directory: TemporaryDirectory, wall: Date = Date()) throws {
    path = directory("clock")
    try set(wall: wall)
  }

  var environment: [String: String] {
    get throws { ["LD_PRELOAD": try ShiftedClock.shim.get(), "CLOCK_SHIM": path] }
  }

  /// Sets the wall clock, and the total number of seconds that the machine has slept.
  func set(wall: Date = Date(), slept: Int = 0) throws {
    let text = "\(Int(wall.timeIntervalSinceNow.rounded())) \(slept)\n"
    // The file is replaced atomically, because the program must never read a partial one.
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }
}
