// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ExternalInput
import HelperProgram
import SystemCalls
import Timekeeping

/// Runs other programs for their output, one after the other.
@MainActor struct ProgramRunner {
  /// Maximum size of an output, in bytes.
  private static let maxOutput = 1 << 26

  private let loop: EventLoop

  init() throws(CommandError) {
    EventLoop.blockChildSignal()
    do { loop = try EventLoop() } catch { throw CommandError(.io, error.message) }
  }

  /// The current time.
  var now: Moment { loop.now }

  /// The path of this program's command line tool: in the directory of the running program, which may be the daemon,
  /// because both can be one file with two names. Nil if /proc is not mounted.
  static var ownToolPath: String? {
    Environment.executablePath.map {
      "\($0.prefix(through: $0.lastIndex(of: "/") ?? $0.startIndex))\(CommandLineTool.name)"
    }
  }

  /// Runs a program to its end.
  ///
  /// - Parameters:
  ///   - words: its name, which is searched for in PATH, or its path; and its arguments.
  ///   - accepted: exit statuses that are not failures.
  func run(_ words: [String], within limit: Duration, accepting accepted: [Int32] = [0]) -> SupportReport.SourceResult {
    guard let name = words.first, let path = ProgramRunner.path(of: name) else {
      return SupportReport.SourceResult(output: [], failure: "\(words.first ?? ""): no such program")
    }
    var result: HelperProgram.Result?
    let program = HelperProgram(
      loop: loop, arguments: [path] + words.dropFirst(), environment: [("LC_ALL", "C.UTF-8"), ("SYSTEMD_COLORS", "0")],
      deadline: limit, maximumOutputSize: ProgramRunner.maxOutput
    ) { result = $0 }
    defer { withExtendedLifetime(program) {} }
    while result == nil {
      guard (try? loop.runOnce(timeout: .seconds(60))) != nil else { break }
    }
    guard let result else { return SupportReport.SourceResult(output: [], failure: "its end cannot be observed") }
    let errors = String(decoding: result.errors, as: UTF8.self).split(separator: "\n").map(String.init)
    guard let how = ProgramRunner.failure(result.ending, accepted) else {
      return SupportReport.SourceResult(output: result.output, failure: nil, warnings: errors)
    }
    return SupportReport.SourceResult(
      output: result.output, failure: errors.isEmpty ? how : "\(how): \(errors.joined(separator: "; "))")
  }

  /// How it failed; nil if it did not.
  private static func failure(_ ending: HelperProgram.Ending, _ accepted: [Int32]) -> String? {
    switch ending {
    case .exited(let status): accepted.contains(status) ? nil : "exit status \(status)"
    case .killed(let signal): "ended by signal \(signal)"
    case .timedOut: "not finished in time"
    case .tooLarge: "its output is too large"
    case .notStarted(let why): why
    }
  }

  /// The path of a program; nil if there is none of this name in PATH.
  static func path(of name: String) -> String? {
    guard !name.contains("/") else { return name }
    let directories = (Environment.value(of: "PATH") ?? "/usr/sbin:/usr/bin:/sbin:/bin").split(separator: ":")
    // 1 is X_OK.
    return directories.lazy.map { "\($0)/\(name)" }.first { FileAccess.error($0, 1) == nil }
  }
}
