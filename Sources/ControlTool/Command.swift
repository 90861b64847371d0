// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import SystemCalls

/// A subcommand of `fleet-locationctl`.
@MainActor protocol Command {
  /// The word on the command line.
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  /// The text of `COMMAND --help`, with its line end.
  static var usage: String { get }

  /// Its options, besides `--help` and `--version`.
  static var options: [CommandLineOptions.Option] { get }

  /// Runs the command.
  ///
  /// - Returns: the exit status.
  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32
}

/// Why a command failed.
struct CommandError: Error {
  /// The exit status, from sysexits.h.
  enum Code: Int32 {
    case usage = 64
    case data = 65
    case noInput = 66
    /// No daemon answers, or something else that the command needs is not available.
    case unavailable = 69
    case io = 74
    /// The result is not known yet.
    case temporary = 75
    case permission = 77
    case configuration = 78
  }

  let code: Code
  /// What is wrong and what to do, without the program's name and without a line end.
  let message: String
  /// The control socket at which nothing listens; nil for other errors.
  let absentSocket: String?

  init(_ code: Code, _ message: String, absentSocket: String? = nil) {
    self.code = code
    self.message = message
    self.absentSocket = absentSocket
  }

  /// The mistakes in the settings, or that this user may not read them. If the service may not, that is a mistake.
  @MainActor init(_ error: ConfigurationError) {
    let isUsers = error.isPermissionDenied && !ServiceImpersonation.isActive && UserAccount.current.id != 0
    self.init(isUsers ? .permission : .configuration, error.message)
  }
}
