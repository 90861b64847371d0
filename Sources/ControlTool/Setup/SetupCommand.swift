// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import EventLoop
import Glibc
import HTTPMessages
import Observability
import Release
import SystemCalls
import Terminal
import Timekeeping

/// `fleet-locationctl setup`: asks for what the settings need, writes them, starts the service, and watches it until
/// Fleet Engine has accepted an update.
enum SetupCommand: Command {
  static let name = "setup"
  static let summary = "find the receiver, write the settings and the credential, and start the service"
  static let options =
    SetupAnswers.Question.allCases.map { CommandLineOptions.Option($0.rawValue, takesValue: true) } + [
      CommandLineOptions.Option("credential-file", takesValue: true), CommandLineOptions.Option("no-credential"),
      CommandLineOptions.Option("replace"), CommandLineOptions.Option("dry-run"),
      CommandLineOptions.Option("wait", takesValue: true), Instance.option,
    ]
  static let usage = """
    Usage: fleet-locationctl setup [OPTION]...
    Finds the receiver, asks for what no option says, writes the settings, the credential and the unit's drop-in, checks
    them, starts the service, and watches until there is a fix and Fleet Engine has accepted an update, or says what is
    missing. Ports that another program has open are named and not read, and nothing is written to any. A file that
    exists is replaced only after a question, and kept beside the new one; only a credential that is not encrypted is
    deleted when an encrypted one replaces it. Without a terminal it asks nothing. Run it as root.

          --source SOURCE         a device, such as /dev/serial/by-id/…; gpsd; modemmanager; or a route (/…/NAME.gpx)
                                  for a simulated drive (without a terminal, the default is the only one that is found)
          --service SERVICE       deliveries or trips
          --provider ID           the Google Cloud project ID
          --vehicle ID            the vehicle, as the backend created it
          --token-url URL         where the backend serves its token, with {vehicle_id} in place of the ID
          --credential-file FILE  the file with the credential for this URL, the whole value of the header Authorization, as
                                  in "Bearer …"; "-" is standard input
          --no-credential         the token provider needs none; the unit's drop-in for it is renamed
          --response FORMAT       of the token provider's response, lmfs or rides-stub (default: by the service)
          --endpoint URL          of Fleet Engine (default: Google's)
          --replace               replace files that exist, and keep them beside the new ones
          --wait SECONDS          how long to wait for the first update, 0 to 3600 (default 60)
          --dry-run               print the files, and change nothing
          --instance NAME         set up the daemon fleet-locationd@NAME

    Exit status: 0 if the vehicle is online, 1 if not yet; 64 if an option is missing or wrong; 69 if the service cannot
    be started; 74 if a file cannot be written; 77 without root's rights; 78 if the settings are invalid.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    // The operand is not repeated in the message: it may be the credential.
    if !options.operands.isEmpty {
      throw CommandError(
        .usage, "setup: unexpected argument; every answer has its option, and the credential is in a file")
    }
    let instance = try Instance.name(options, conflictingWith: "config")
    if let instance, let problem = SetupPlan.problem(ofInstance: instance) {
      throw CommandError(.usage, "setup: --instance \"\(instance)\" \(problem)")
    }
    let isDryRun = options.has("dry-run")
    guard isDryRun || geteuid() == 0 else {
      throw CommandError(.permission, "setup: permission denied; run it as root")
    }
    let wait = try waitLimit(options)
    let programs = try ProgramRunner()
    let isInteractive = TerminalPrompt.isPossible
    var answers = SetupAnswers()
    for question in SetupAnswers.Question.allCases {
      guard let text = options.value(question.rawValue) else { continue }
      if let mistake = answers.set(question, to: text) {
        throw CommandError(.usage, "setup: --\(question.rawValue) \(mistake)")
      }
    }
    let content = { (path: String) -> [UInt8]? in try? SystemFile.content(of: path, limit: 1 << 20).bytes }
    let isExistingEncrypted = SetupPlan.isExistingEncrypted(instance, content: content) {
      FileAccess.error($0, F_OK) == nil
    }
    if !isInteractive { try SetupCommand.requireAnswers(answers, options, hasCredential: isExistingEncrypted != nil) }
    if answers.source == nil { try findSource(&answers, instance, isInteractive: isInteractive) }
    if isInteractive { try ask(&answers) }
    let secret = try readCredential(options, isInteractive: isInteractive, hasExisting: isExistingEncrypted != nil)
    let credential = try protect(secret, isExistingEncrypted, isDryRun: isDryRun, programs)
    let plan = SetupPlan(answers, credential: credential, instance: instance)
    let names = { SystemFile.names(in: $0) ?? [] }
    if let obstacle = plan.obstacle(names: names, content: content) {
      throw CommandError(.io, "setup: \(obstacle)")
    }
    let time = "\(programs.now.wall.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" })Z"
    let changes = plan.changes(at: time, names: names, existing: content)
    if isDryRun { return try StandardOutput.write(plan.text(changes)) }
    try confirm(changes, mayReplace: options.has("replace"), isInteractive: isInteractive)
    try write(changes)
    try start(plan, instance, programs)
    return try watch(plan, instance, limit: wait)
  }

  /// Ctrl-C or the end of an ssh session must not end this program between two steps that belong together: a copy of
  /// the credential would stay, a file would be missing, or the service would stay stopped.
  private static let endSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  // MARK: - Options

  private static func waitLimit(_ options: CommandLineOptions) throws(CommandError) -> Duration {
    guard let text = options.value("wait") else { return .seconds(60) }
    guard let seconds = Int(text), (0...3600).contains(seconds) else {
      throw CommandError(.usage, "setup: --wait \(text): a whole number of seconds from 0 to 3600 is expected")
    }
    return .seconds(seconds)
  }

  /// Fails if something is missing that cannot be asked for, because there is no terminal.
  private static func requireAnswers(
    _ answers: SetupAnswers, _ options: CommandLineOptions, hasCredential: Bool
  ) throws(CommandError) {
    var missing = answers.unanswered.filter { $0 != .source }.map { "--\($0.rawValue)" }
    if !hasCredential, !options.has("credential-file"), !options.has("no-credential") {
      missing.append("--credential-file (or --no-credential)")
    }
    guard !missing.isEmpty else { return }
    throw CommandError(.usage, "setup: there is no terminal for questions; missing: \(missing.joined(separator: ", "))")
  }

  // MARK: - Questions

  private static func findSource(
    _ answers: inout SetupAnswers, _ instance: String?, isInteractive: Bool
  ) throws(CommandError) {
    let loop: EventLoop
    do { loop = try EventLoop() } catch { throw CommandError(.io, error.message) }
    printLine("Looking for receivers: up to half a minute …")
    let service = InstalledService(settings: SetupPlan.settingsPath(instance))
    let environment = Doctor.Environment(
      loop: loop, serviceUser: UserAccount.named(DoctorCommand.serviceUser), currentUser: .current,
      buildDate: Release.buildDate, unit: service?.unit,
      isDaemonRunning: false)
    let sources = SetupSources(found: ReceiverSearch(in: environment).run())
    _ = try StandardOutput.write(Instance.addressed(sources.text, service))
    guard isInteractive else {
      guard let only = sources.onlyAnswer else {
        throw CommandError(.usage, "setup: there is no terminal for questions; missing: --source")
      }
      _ = answers.set(.source, to: only)
      return
    }
    try ask(.source, "Source, by its number or as for --source", default: sources.defaultAnswer, &answers) {
      sources.answer(for: $0)
    }
  }

  private static func ask(_ answers: inout SetupAnswers) throws(CommandError) {
    for question in answers.unanswered {
      switch question {
      case .service: try ask(question, "Service of Fleet Engine, deliveries or trips", default: "deliveries", &answers)
      case .provider: try ask(question, "Provider: the Google Cloud project ID", default: nil, &answers)
      case .vehicle:
        try ask(
          question, "Vehicle ID, as the backend created it", default: ConfigurationEnvironment.system.hostname(),
          &answers)
      case .tokenURL: try ask(question, "Token URL, with {vehicle_id} in place of the ID", default: nil, &answers)
      case .source, .response, .endpoint: break
      }
    }
  }

  /// Asks until the answer is valid.
  private static func ask(
    _ question: SetupAnswers.Question, _ text: String, default value: String?, _ answers: inout SetupAnswers,
    meaning: (String) -> String = { $0 }
  ) throws(CommandError) {
    while true {
      let line = try prompt("\(text)\(value.map { " [\($0)]" } ?? ""): ")
      let answer = line.isEmpty ? value ?? "" : meaning(line)
      guard let mistake = answers.set(question, to: answer) else { return }
      printLine("  \(mistake)")
    }
  }

  private static func prompt(_ text: String, isHidden: Bool = false) throws(CommandError) -> String {
    _ = try StandardOutput.write(Array(text.utf8))
    let answer: TerminalPrompt.Answer
    do throws(Errno) { answer = try TerminalPrompt.read(isHidden: isHidden) } catch {
      throw CommandError(.io, "the terminal cannot be read: \(error)")
    }
    switch answer {
    case .line(let line): return trimmed(line)
    case .cut:
      throw CommandError(
        .usage,
        "setup: a line at a terminal has at most \(TerminalPrompt.maxLength) bytes, and nothing was changed; write a "
          + "longer credential to a file, and name it with --credential-file")
    case .end:
      // The message begins on a new line.
      printLine("")
      throw CommandError(.usage, "setup: ended; nothing was changed")
    }
  }

  private static func trimmed(_ text: String) -> String {
    let isSpace = { (character: Character) in character.isWhitespace }
    return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }

  // MARK: - The credential

  /// - Returns: nil for the existing credential; an empty one for none.
  private static func readCredential(
    _ options: CommandLineOptions, isInteractive: Bool, hasExisting: Bool
  ) throws(CommandError) -> Secret? {
    if options.has("no-credential") {
      guard !options.has("credential-file") else {
        throw CommandError(.usage, "setup: --credential-file and --no-credential cannot be combined")
      }
      return Secret("")
    }
    guard let path = options.value("credential-file") else {
      guard isInteractive else { return nil }
      while true {
        let empty = hasExisting ? "empty keeps the one that is there" : "empty for none"
        let text = try prompt(
          "Credential, the whole value of the header Authorization, as in \"Bearer …\", not shown (\(empty)): ",
          isHidden: true)
        if text.isEmpty { return hasExisting ? nil : Secret("") }
        guard let mistake = SetupPlan.problem(ofCredential: text) else { return Secret(text) }
        printLine("  \(mistake)")
      }
    }
    // The path is not repeated in the message: it may be the credential itself.
    guard path == "-" || FileAccess.error(path, F_OK)?.code != ENOENT else {
      throw CommandError(
        .noInput, "setup: the file of --credential-file does not exist; it is the path of a file, not the credential")
    }
    let input = try CommandInput(path: path)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count <= SetupPlan.maxCredentialSize {
      let count = try input.read(into: &buffer)
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    let text = trimmed(String(decoding: bytes, as: UTF8.self))
    if let mistake = SetupPlan.problem(ofCredential: text) {
      throw CommandError(.usage, "setup: \(input.name): \(mistake)")
    }
    return Secret(text)
  }

  /// Encrypts the credential, if this machine can.
  ///
  /// - Parameters:
  ///   - secret: nil for the existing credential.
  ///   - isExistingEncrypted: whether the existing credential is encrypted; nil if there is none.
  private static func protect(
    _ secret: Secret?, _ isExistingEncrypted: Bool?, isDryRun: Bool, _ programs: ProgramRunner
  ) throws(CommandError) -> SetupPlan.Credential {
    guard let secret else { return isExistingEncrypted.map { .existing(isEncrypted: $0) } ?? .none }
    guard !secret.isEmpty else { return .none }
    guard ProgramRunner.path(of: "systemd-creds") != nil else { return .plain(secret) }
    if isDryRun { return .encrypted([]) }
    // In memory (tmpfs), readable only by root, until it is encrypted; no signal may leave it there.
    SignalMask.block(endSignals)
    defer { SignalMask.unblock(endSignals) }
    let path = "/run/fleet-locationctl-setup.\(getpid())"
    do throws(Errno) {
      try AtomicFile.write(Array(secret.reveal().utf8), to: path, mode: 0o600, isDurable: false)
    } catch {
      printLine("The credential is not encrypted (\(path): \(error))")
      return .plain(secret)
    }
    defer { try? AtomicFile.remove(path) }
    let result = programs.run(
      ["systemd-creds", "encrypt", "--tpm2-pcrs=", "--name=\(SetupAnswers.credentialName)", path, "-"],
      within: .seconds(30))
    guard result.failure == nil, !result.output.isEmpty else {
      printLine("The credential is not encrypted (systemd-creds: \(result.failure ?? "no output"))")
      return .plain(secret)
    }
    return .encrypted(result.output)
  }

  // MARK: - Files

  private static func confirm(
    _ changes: [SetupPlan.Change], mayReplace: Bool, isInteractive: Bool
  ) throws(CommandError) {
    for change in changes where !mayReplace {
      let (refusal, question): (String, String)
      switch change {
      case .created, .unchanged: continue
      case .replaced(let file, let backup):
        refusal = "\(file.path) exists with other content, and nothing was changed; --replace replaces it, and keeps it"
        question = "\(file.path) exists. Replace it, and keep it as \(backup)?"
      case .removed(let path, let backup):
        refusal = "\(path) is for the previous credential, and nothing was changed; --replace renames this file"
        question = "\(path) is for the previous credential. Rename it to \(backup)?"
      case .deleted(let path):
        refusal = "\(path) has the previous credential, not encrypted, and nothing was changed; --replace deletes it"
        question = "\(path) has the previous credential, not encrypted. Delete it?"
      }
      guard isInteractive else { throw CommandError(.io, "setup: \(refusal)") }
      let answer = try prompt("\(question) [y/N]: ")
      guard ["y", "yes"].contains(answer.lowercased()) else {
        throw CommandError(.usage, "setup: ended; nothing was changed")
      }
    }
  }

  private static func write(_ changes: [SetupPlan.Change]) throws(CommandError) {
    SignalMask.block(endSignals)
    defer { SignalMask.unblock(endSignals) }
    for change in changes {
      switch change {
      case .unchanged(let file): printLine("As it is: \(file.path)")
      case .created(let file):
        try write(file)
        printLine("Written:  \(file.path)")
      case .replaced(let file, let backup):
        try keep(file.path, as: backup)
        try write(file)
        printLine("Replaced: \(file.path); the old one is \(backup)")
      case .removed(let path, let backup):
        try keep(path, as: backup)
        try remove(path)
        printLine("Removed:  \(path); it is now \(backup)")
      case .deleted(let path):
        try remove(path)
        printLine("Deleted:  \(path); it had the previous credential, not encrypted")
      }
    }
  }

  private static func keep(_ path: String, as backup: String) throws(CommandError) {
    do throws(Errno) {
      try AtomicFile.hardLink(path, as: backup)
    } catch {
      throw CommandError(.io, "\(path): cannot be kept as \(backup): \(error)")
    }
  }

  private static func remove(_ path: String) throws(CommandError) {
    do throws(Errno) { try AtomicFile.remove(path) } catch {
      throw CommandError(.io, "\(path): cannot be removed: \(error)")
    }
  }

  private static func write(_ file: SetupPlan.File) throws(CommandError) {
    do throws(Errno) {
      try AtomicFile.makeDirectory(of: file.path)
      try AtomicFile.write(file.content, to: file.path, mode: file.mode, isDurable: true, isUserDirectory: true)
    } catch {
      throw CommandError(.io, "\(file.path): cannot be written: \(error)")
    }
  }

  // MARK: - The service

  private static func start(
    _ plan: SetupPlan, _ instance: String?, _ programs: ProgramRunner
  ) throws(CommandError) {
    guard FileAccess.error("/run/systemd/system", F_OK) == nil, let toolPath = ProgramRunner.ownToolPath else {
      throw CommandError(.unavailable, "systemd does not run on this machine: start the daemon yourself")
    }
    let option = option(of: instance)
    try run(["systemctl", "daemon-reload"], programs, option)
    let check = programs.run(
      [toolPath, CheckCommand.name, "--config", SetupPlan.settingsPath(instance)], within: .seconds(330))
    if let failure = check.failure {
      throw CommandError(
        .configuration,
        "the files are written, but the check fails: \(failure)\n"
          + "Correct it, then: systemctl enable \(plan.unit) && systemctl stop \(plan.unit) && "
          + "systemctl start \(plan.unit)")
    }
    printLine("Checked:  \(SetupPlan.settingsPath(instance))")
    for warning in check.warnings { printLine("          \(warning)") }
    try run(["systemctl", "enable", plan.unit], programs, option)
    // The unit is stopped and started, not restarted: systemd keeps the runtime directory over a restart, but a token
    // in it that was fetched with another credential must be removed.
    SignalMask.block(endSignals)
    defer { SignalMask.unblock(endSignals) }
    try run(["systemctl", "stop", plan.unit], programs, option)
    try run(["systemctl", "start", plan.unit], programs, option)
    printLine("Started:  \(plan.unit)")
  }

  /// The option that names the instance, for commands in messages.
  private static func option(of instance: String?) -> String { instance.map { " --instance \($0)" } ?? "" }

  private static func run(
    _ words: [String], _ programs: ProgramRunner, _ option: String
  ) throws(CommandError) {
    guard let failure = programs.run(words, within: .seconds(100)).failure else { return }
    throw CommandError(
      .unavailable, "\(words.joined(separator: " ")): \(failure)\nfleet-locationctl doctor\(option) says more")
  }

  private static func watch(_ plan: SetupPlan, _ instance: String?, limit: Duration) throws(CommandError) -> Int32 {
    let loop: EventLoop
    do { loop = try EventLoop() } catch { throw CommandError(.io, error.message) }
    let service = InstalledService(settings: SetupPlan.settingsPath(instance))
    let socket = service?.socket ?? ""
    let option = option(of: instance)
    let start = loop.now.boot
    var watch = SetupWatch(limit: limit, option: option)
    while true {
      let response: Result<StatusReport, StatusRequestError>
      do throws(CommandError) {
        response = .success(try DaemonClient.status(at: socket, timeout: .seconds(2)).status)
      } catch {
        response = .failure(StatusRequestError(message: error.message))
      }
      switch watch.handle(response, at: loop.now.boot - start) {
      case .online(let sentence):
        printLine("Online:   \(sentence), \((loop.now.boot - start).humanReadable) after the start")
        return 0
      case .missing(let sentence):
        let text = "Not yet:  \(sentence)\nThe service runs on and tries again; fleet-locationctl doctor says more"
        printLine(Instance.addressed(text, service))
        return 1
      case .wait(let line):
        if let line { printLine("Now:      \(line)") }
      }
      let next = loop.now.boot + .seconds(1)
      do {
        while loop.now.boot < next { _ = try loop.runOnce(timeout: next - loop.now.boot) }
      } catch {
        throw CommandError(.io, error.message)
      }
    }
  }

  private static func printLine(_ line: String) { _ = try? StandardOutput.write("\(line)\n") }
}
