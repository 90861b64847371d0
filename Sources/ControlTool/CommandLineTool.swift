// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import ExternalInput
import Glibc
import Release

/// `fleet-locationctl`: finds the command that the arguments name and runs it.
@MainActor package enum CommandLineTool {
  /// The name of the program.
  nonisolated package static let name = "fleet-locationctl"

  /// Every command, in the order of `--help`. A new one is added here.
  private static var commands: [any Command.Type] {
    [
      SetupCommand.self,
      FixesCommand.self,
      SimulateCommand.self,
      StatusCommand.self,
      MonitorCommand.self,
      ExplainCommand.self,
      PauseCommand.self,
      ResumeCommand.self,
      OfflineCommand.self,
      OnlineCommand.self,
      MetricsCommand.self,
      ReloadCommand.self,
      CheckCommand.self,
      SettingsCommand.self,
      DoctorCommand.self,
      ReportCommand.self,
      InspectTokenCommand.self,
      ModemCommand.self,
    ]
  }

  /// Runs the command that the arguments name.
  ///
  /// - Parameter arguments: the program's name first, as `main` gets them.
  /// - Returns: the exit status.
  package static func run(_ arguments: [String]) -> Int32 {
    // Writing to a closed pipe fails with EPIPE, and does not end a command between two of its steps.
    signal(SIGPIPE, SIG_IGN)
    var help = "\(name) --help"
    do throws(CommandError) {
      let options = try parse(arguments, [], stopsAtOperand: true)
      if options.has("help") { return try StandardOutput.write(usage) }
      if options.has("version") { return try StandardOutput.write(Release.banner(name)) }
      guard let word = options.operands.first else {
        throw CommandError(.usage, "no command given; the commands are: \(commandNames)")
      }
      guard word == helpWord else {
        let command = try command(word)
        help = "\(name) \(helpWord) \(command.name)"
        return try run(command, options.operands)
      }
      guard let topic = options.operands.dropFirst().first(where: { !$0.hasPrefix("-") }), topic != helpWord else {
        return try StandardOutput.write(usage)
      }
      return try StandardOutput.write(try command(topic).usage)
    } catch {
      StandardError.write("\(name): \(error.message)\n")
      if error.code == .usage { StandardError.write("Try \"\(help)\".\n") }
      return error.code.rawValue
    }
  }

  /// Whether a word is a command that has the option `--instance`.
  static func takesInstance(_ word: String) -> Bool {
    commands.contains { $0.name == word && $0.options.contains(Instance.option) }
  }

  /// `help` is the same as `--help`, and `help COMMAND` the same as `COMMAND --help`.
  private static let helpWord = "help"

  private static func command(_ word: String) throws(CommandError) -> any Command.Type {
    if let command = commands.first(where: { $0.name == word }) { return command }
    let words = commands.map { $0.name } + [helpWord, "--version"]
    let hint = otherCommand(word) ?? NearestName.find(word, among: words)
    throw CommandError(
      .usage,
      "unknown command \"\(word)\"; \(hint.map { "did you mean \($0)?" } ?? "the commands are: \(commandNames)")")
  }

  /// The command to suggest for a word that other programs use; nil if there is none.
  private static func otherCommand(_ word: String) -> String? {
    switch word {
    case "start", "stop", "restart", "enable", "disable": "systemctl \(word) fleet-locationd"
    case "watch", "follow", "events", "tail": MonitorCommand.name
    case "log", "logs", "journal": "journalctl -u fleet-locationd -e"
    case "config", "configuration", "show", "print": SettingsCommand.name
    case "validate", "verify", "test", "lint": CheckCommand.name
    case "configure", "init", "install", "wizard": SetupCommand.name
    case "info", "state", "health": StatusCommand.name
    case "debug", "diagnose", "troubleshoot": DoctorCommand.name
    case "support", "bundle", "bugreport", "dump": ReportCommand.name
    default: nil
    }
  }

  /// - Parameter arguments: the command's name first.
  private static func run(_ command: any Command.Type, _ arguments: [String]) throws(CommandError) -> Int32 {
    let options = try parse(arguments, command.options)
    if options.has("help") { return try StandardOutput.write(command.usage) }
    if options.has("version") { return try StandardOutput.write(Release.banner(name)) }
    do throws(CommandError) { return try command.run(options) } catch {
      throw CommandError(error.code, Instance.addressed(error.message, Instance.service(options)))
    }
  }

  private static func parse(
    _ arguments: [String], _ known: [CommandLineOptions.Option], stopsAtOperand: Bool = false
  ) throws(CommandError) -> CommandLineOptions {
    do throws(CommandLineOptions.Mistake) {
      return try CommandLineOptions(
        arguments, options: known + [.init("help", short: "h"), .init("version", short: "V")],
        stopsAtOperand: stopsAtOperand)
    } catch {
      let hint = stopsAtOperand ? "; the options of a command come after its name" : ""
      throw CommandError(.usage, error.message + hint)
    }
  }

  private static var commandNames: String {
    commands.map { $0.name }.joined(separator: ", ")
  }

  private static var usage: String {
    var text = """
      Usage: \(name) COMMAND [ARGUMENT]...
      Inspects and controls the location daemon of a vehicle.

      Commands:

      """
    let lines = commands.map { ($0.name, $0.summary) } + [(helpWord, "print this text, or the help of a command")]
    for (name, summary) in lines {
      text += "  \(name)\(String(repeating: " ", count: max(1, 10 - name.utf8.count)))\(summary)\n"
    }
    text += """

      Options:
        -h, --help     print this text; after a command, the help of the command
        -V, --version  print the version

      """
    return text
  }
}
