// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// A program under test, which is killed when this object is released, and when the tests end.
final class ChildProcess {
  let processID: pid_t
  let output: LinePipe
  let errors: LinePipe
  /// The status from waitpid(2), once the program has exited.
  private(set) var status: Int32?

  /// The directory of the tests' executable and the other products of the build.
  static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path

  /// Whether a child can have its own mount namespace: as root, and not in a chroot.
  static let canMount =
    (try? ChildProcess("/usr/bin/unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).finish()) == 0

  /// The root directory of the package.
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// - Parameters:
  ///   - program: a product's name, or a path.
  ///   - environment: variables that are added to those of the test process, or replace them.
  ///   - input: path of standard input.
  ///   - user: the user to run as, if the tests run as root.
  init(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String = "/dev/null",
    user: uid_t? = nil
  ) throws {
    output = try LinePipe()
    errors = try LinePipe()
    let path = program.hasPrefix("/") ? program : "\(ChildProcess.products)/\(program)"
    var variables = ProcessInfo.processInfo.environment
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY"] {
      variables[name] = nil
    }
    variables.merge(environment) { $1 }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, output.writer, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.writer, 2)

    // The threads that run tests block signals, and a child would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    sigfillset(&mask)
    posix_spawnattr_setsigdefault(&attributes, &mask)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let identity = user.map { ["--reuid=\($0)", "--clear-groups"] } ?? []
    let words = ["setpriv", "--pdeathsig", "KILL"] + identity + ["--", path] + arguments
    let vector = words.map { strdup($0) } + [nil]
    let pairs = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for pointer in vector + pairs { free(pointer) } }
    var child: pid_t = 0
    let result = posix_spawn(&child, "/usr/bin/setpriv", &actions, &attributes, vector, pairs)
    guard result == 0 else { throw TestFailure("cannot run \(path): \(String(cString: strerror(result)))") }
    processID = child
    output.closeWriter()
    errors.closeWriter()
  }

  deinit {
    guard !hasEnded else { return }
    Glibc.kill(processID, SIGKILL)
    var status: Int32 = 0
    waitpid(processID, &status, 0)
  }

  var sources: [any Readable] { [output, errors] }

  var hasEnded: Bool {
    if status != nil { return true }
    var value: Int32 = 0
    guard waitpid(processID, &value, WNOHANG) == processID else { return false }
    status = value
    return true
  }

  /// The exit status; nil while the program runs; 128 plus the signal if a signal killed the program.
  var exitCode: Int32? {
    guard hasEnded, let status else { return nil }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  /// Whether a signal has killed the program, and the kernel has written a core file.
  var hasDumpedCore: Bool { status.map { $0 & 0x7F != 0 && $0 & 0x80 != 0 } ?? false }

  func signal(_ number: Int32) {
    if !hasEnded { Glibc.kill(processID, number) }
  }

  /// Waits until the program exits, and reads its output.
  @discardableResult
  func finish(within limit: Duration = .seconds(20)) throws -> Int32 {
    try wait(for: "the end of process \(processID)", within: limit, reading: sources) { hasEnded }
    for source in sources { source.drain() }
    return exitCode ?? -1
  }

  /// Whether the daemon's descriptors and counters can be read: only root can, because the daemon forbids core files.
  static let canInspect = geteuid() == 0

  /// The number of the program's open descriptors.
  func descriptorCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd").count
  }

  /// The number in a line of /proc/PID/status, such as `Threads`.
  func statusField(_ name: String) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
    for line in text.split(separator: "\n") where line.hasPrefix("\(name):") {
      let digits = line.drop { !$0.isNumber }.prefix { $0.isNumber }
      if let value = Int(digits) { return value }
    }
    throw TestFailure("/proc/\(processID)/status has no \(name)")
  }
}
