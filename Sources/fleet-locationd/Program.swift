// SPDX-License-Identifier: Apache-2.0
import Configuration
import Diagnosis
import EventLoop
import Glibc
import LocationDaemon
import Release
import ServiceManager
import Timekeeping
import SystemCalls
import Timekeeping

/// The program from its arguments to its exit code.
enum Program {
  static func run(_ arguments: [String]) -> Int32 {
    switch Arguments(arguments) {
    case .help: return say(Arguments.usage)
    case .version: return say(Release.banner("fleet-locationd"))
    case .settingsReference: return say(SettingsReference.markdown())
    case .exampleSettings: return say(String(decoding: PackageResources.example_settings_toml, as: UTF8.self))
    case .mistake(let mistake):
      complain("fleet-locationd: \(mistake)\nTry fleet-locationd --help\n")
      return ExitCode.usage
    case .check(let settings): return check(settings)
    case .run(let settings): return serve(settings)
    }
  }

  private static func check(_ path: String) -> Int32 {
    ServiceCredentials.adopt(for: path)
    let verdict = SettingsVerdict(of: path)
    complain(verdict.complaints)
    write(verdict.praise, to: STDOUT_FILENO)
    return verdict.exitCode
  }

  private static func serve(_ path: String) -> Int32 {
    LocationDaemon.reportCrashes()
    let journal = Journal(level: .notice)
    let notifier = ServiceNotifier()
    do {
      let loop = try EventLoop()
      let daemon = try LocationDaemon(loop: loop, journal: journal, notifier: notifier) {
        () throws(ConfigurationError) in try load(path)
      }
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

  private static func load(_ path: String) throws(ConfigurationError) -> SettingsFile {
    try SettingsFile.load(path: path, environment: .system)
  }

  private static func say(_ text: String) -> Int32 {
    write(text, to: STDOUT_FILENO)
    return ExitCode.done
  }

  private static func complain(_ text: String) {
    write(text, to: STDERR_FILENO)
  }

  private static func write(_ text: String, to descriptor: Int32) {
    // Whoever does not read this does not want it.
    try? Descriptor.write(Array(text.utf8), to: descriptor)
  }
}
