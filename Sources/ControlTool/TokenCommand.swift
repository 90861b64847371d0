// SPDX-License-Identifier: Apache-2.0
import Authorization
import CommandLineOptions
import Configuration
import Delivery
import Diagnosis
import EventLoop
import FleetEngine
import Glibc
import LocationDaemon
import SystemCalls
import Timekeeping

/// `fleet-locationctl token`: one token, fetched as the daemon would, and looked at.
enum TokenCommand: Command {
  static let name = "token"
  static let summary = "fetch a token as the daemon would, and say what is in it and what is wrong"
  /// Whom the token is to be for, in place of the settings' vehicle.
  private static let scopes: [(option: String, scope: @Sendable (String) -> AuthorizationContext.Scope)] = [
    ("delivery-vehicle", { .deliveryVehicle($0) }), ("vehicle", { .vehicle($0) }), ("trip", { .trip($0) }),
    ("task", { .task($0) }), ("tracking-id", { .trackingID($0) }),
  ]
  static var options: [CommandLineOptions.Option] {
    SettingsChoice.options + [CommandLineOptions.Option("reveal")]
      + scopes.map { CommandLineOptions.Option($0.option, takesValue: true) }
  }
  static let usage = """
    Usage: fleet-locationctl token [--trip ID | --task ID | --tracking-id ID | --vehicle ID | --delivery-vehicle ID]
                                   [--config FILE | --instance NAME] [--reveal]
    Asks the provider that the settings name for one token, with the daemon's credentials, certificates and time limit,
    and shows its header, its claims, how long it lives, and every problem. It is for the vehicle of the settings, or
    for whom is named:

          --trip ID, --task ID, --tracking-id ID
                             a trip, a task, or what a parcel is followed by
          --vehicle ID       a vehicle of on-demand trips
          --delivery-vehicle ID
                             another delivery vehicle
    \(SettingsChoice.usage)
          --reveal           show the signature, and the token: whoever has it can act for the vehicle

    Credentials are those of the running service, as far as this user may read them.

    Exit status: 0 when the token is good, 1 when there is none or it has a problem that Fleet Engine refuses it for, 69
    when root cannot ask as the service, 77 when this user may not read the settings or the credentials, 78 when they
    cannot be used.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(
        .usage, "token: unexpected \"\(operand)\": whom it is for is named with an option, as in --trip ID")
    }
    let named = scopes.filter { options.has($0.option) }
    guard named.count <= 1 else {
      throw CommandError(.usage, "token: it is for one: \(named.map { "--\($0.option)" }.joined(separator: " or "))")
    }
    signal(SIGPIPE, SIG_IGN)
    EventLoop.blockChildSignal()
    let path = try SettingsChoice.path(options)
    switch ServiceStandIn.run(settings: path, asksForToken: true) {
    case .ended(let status): return status
    case .notStarted(let finding):
      throw CommandError(.configuration, finding.message)
    case .unknown(let finding):
      throw CommandError(.unavailable, finding.message)
    case .inPlace(let remark): StandardError.write(remark)
    }
    ServiceCredentials.adopt(for: path)
    let settings = try settings(path)
    let scope = named.first.flatMap { name in options.value(name.option).map(name.scope) }
    guard
      let context = scope.map({ AuthorizationContext(providerID: settings.vehicle.providerID, scope: $0) })
        ?? settings.agent.context
    else { throw CommandError(.usage, "token: the ID is empty") }
    let answer = try ask(settings, for: context, path)
    for remark in answer.outcome.remarks {
      StandardError.write("\(CommandLineTool.name): the program says: \(remark)\n")
    }
    let sheet = TokenSheet(answer, reveals: options.has("reveal"))
    _ = try StandardOutput.write(sheet.text)
    return sheet.isGood ? 0 : 1
  }

  private static func settings(_ path: String) throws(CommandError) -> Settings {
    do throws(ConfigurationError) {
      return try SettingsFile.load(path: path, environment: .system).settings
    } catch {
      throw CommandError(.configuration, error.diagnostics.map { "\($0)" }.joined(separator: "\n"))
    }
  }

  private static func ask(
    _ settings: Settings, for context: AuthorizationContext, _ path: String
  ) throws(CommandError) -> TokenInquiry.Answer {
    do {
      let loop = try EventLoop()
      let inquiry = try TokenInquiry(settings, loop: loop)
      var answer: TokenInquiry.Answer?
      try inquiry.ask(for: context) { answer = $0 }
      // It has its own time limit.
      while answer == nil { _ = try loop.turn(waitingAtMost: .seconds(1)) }
      if let answer { return answer }
      throw CommandError(.unavailable, "no answer")
    } catch let error as CommandError {
      throw error
    } catch let error as DaemonError {
      var message = error.message
      var code = CommandError.Code.configuration
      if ServiceCredentials.isOutOfReach(error, settings) {
        let advice = ServiceCredentials.advice(
          settings, command: "\(CommandLineTool.name) token --config \(path)", user: DoctorCommand.serviceUser,
          current: .current)
        message += "\nThis runs as \(UserAccount.current.name), outside the service. \(advice)"
        if UserAccount.current.id != 0 { code = .permission }
      }
      throw CommandError(code, message)
    } catch let error as TokenFailure {
      throw CommandError(.configuration, error.message)
    } catch {
      throw CommandError(.io, "\(error)")
    }
  }
}
