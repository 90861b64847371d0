// SPDX-License-Identifier: Apache-2.0
import Configuration
import Diagnosis
import EventLoop
import Glibc
import LocationDaemon
import Release
import ServiceManager
import SystemCalls
import Timekeeping

/// Runs the program as its arguments say.
enum Program {
  static func run(_ arguments: [String]) -> Int32 {
    switch DaemonArguments(arguments) {
    case .help: return writeOutput(DaemonArguments.usage)
    case .version: return writeOutput(Release.banner("fleet-locationd"))
    case .settingsReference: return writeOutput(SettingsReference.markdown())
    case .exampleSettings: return writeOutput(String(decoding: PackageResources.example_settings_toml, as: UTF8.self))
    case .mistake(let mistake):
      writeError("fleet-locationd: \(mistake)\nTry fleet-locationd --help\n")
      return ExitCode.usage
    case .check(let settings): return check(settings)
    case .run(let settings): return serve(settings)
    }
  }

  private static func check(_ path: String) -> Int32 {
    let result = SettingsCheckResult(of: path)
    writeError(result.errors)
    return write(result.output, to: STDOUT_FILENO) ? result.exitCode : ExitCode.output
  }

  private static func serve(_ path: String) -> Int32 {
    let journal = Journal(level: .notice)
    let notifier = ServiceNotifier()
    do {
      // These checks come first: another daemon's files must not be changed.
      try ManualStart.check(settings: path)
      let locks = try DirectoryLocks()
      defer { withExtendedLifetime(locks) {} }
      LocationDaemon.reportCrashes()
      let loader = SettingsLoader(path: path)
      let daemon = try LocationDaemon(
        loop: try EventLoop(), journal: journal, notifier: notifier, loader: loader)
      return try daemon.run()
    } catch let error as DaemonError {
      let lines = error.message.split(separator: "\n")
      for line in lines { journal.log(JournalEntry(.error, String(line))) }
      notifier.status(DaemonError.statusPrefix + (lines.first ?? ""))
      return error.code
    } catch {
      journal.log(JournalEntry(.error, "\(error)"))
      return ExitCode.system
    }
  }

  private static func writeOutput(_ text: String) -> Int32 {
    write(text, to: STDOUT_FILENO) ? ExitCode.done : ExitCode.output
  }

  private static func writeError(_ text: String) {
    _ = write(text, to: STDERR_FILENO)
  }

  /// - Returns: false if the text could not be written. A closed pipe is not an error here.
  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    do {
      try Descriptor.write(Array(text.utf8), to: descriptor, waits: descriptor == STDOUT_FILENO)
    } catch {
      return error.code == EPIPE
    }
    return true
  }
}
