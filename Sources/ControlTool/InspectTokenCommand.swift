// SPDX-License-Identifier: Apache-2.0
import Authorization
import CommandLineOptions
import Configuration
import Vehicle
import Diagnosis
import EventLoop
import FleetEngine
import LocationDaemon
import SystemCalls
import Timekeeping

/// `fleet-locationctl token`: fetches one token as the daemon would, and inspects it.
enum InspectTokenCommand: Command {
  static let name = "token"
  static let summary = "fetch a token as the daemon would, and show its contents and problems"
  /// Options that request a token for a scope other than the vehicle of the settings.
  private static let scopeOptions: [(option: String, scope: @Sendable (String) -> AuthorizationContext.Scope)] = [
    ("delivery-vehicle", { .deliveryVehicle($0) }), ("vehicle", { .vehicle($0) }), ("trip", { .trip($0) }),
    ("task", { .task($0) }), ("tracking-id", { .trackingID($0) }),
  ]
  static var options: [CommandLineOptions.Option] {
    SettingsChoice.options + [CommandLineOptions.Option("reveal")]
      + scopeOptions.map { CommandLineOptions.Option($0.option, takesValue: true) }
  }
  static let usage = """
    Usage: fleet-locationctl token [--trip ID | --task ID | --tracking-id ID | --vehicle ID | --delivery-vehicle ID]
                                   [--config FILE | --instance NAME] [--reveal]
    Requests one token from the provider of the settings, with the daemon's credentials, certificates and timeout, and
    shows its header, claims, lifetime and every problem. The token is for the vehicle of the settings, or for:

          --trip ID, --task ID, --tracking-id ID
                             a trip, a task, or the tracking ID of a parcel
          --vehicle ID       a vehicle of on-demand trips
          --delivery-vehicle ID
                             another delivery vehicle
    \(SettingsChoice.usage)
          --reveal           also show the signature and the token, which is a secret: it lets anyone act for the vehicle

    As root, it runs with the service's user, sandbox and credentials, whether the service runs or not.

    Exit status: 0 if the token is good; 1 if there is none, or Fleet Engine would reject it; 69 if root cannot run this
    as the service; 77 if this user may not read the settings or the credentials; 78 if these are invalid.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(
        .usage, "token: unexpected \"\(operand)\": the scope is given with an option, as in --trip ID")
    }
    let named = scopeOptions.filter { options.has($0.option) }
    guard named.count <= 1 else {
      throw CommandError(
        .usage, "token: only one is allowed: \(named.map { "--\($0.option)" }.joined(separator: " or "))")
    }
    EventLoop.blockChildSignal()
    let path = try SettingsChoice.path(options)
    switch ServiceImpersonation.run(settings: path, requestsToken: true) {
    case .ended(let status): return status
    case .notStarted(let finding):
      throw CommandError(.configuration, finding.message)
    case .unknown(let finding):
      throw CommandError(.unavailable, finding.message)
    case .inPlace(let remark): StandardError.write(remark)
    }
    ServiceCredentials.adopt(for: path)
    let settings = try settings(path)
    let scope = named.first.flatMap { entry in options.value(entry.option).map(entry.scope) }
    guard
      let context = scope.map({ AuthorizationContext(providerID: settings.vehicle.providerID, scope: $0) })
        ?? settings.agent.context
    else { throw CommandError(.usage, "token: the ID is empty") }
    let response = try ask(settings, for: context, path)
    for line in response.outcome.errorLines {
      StandardError.write("\(CommandLineTool.name): the token command says: \(line)\n")
    }
    let description = TokenDescription(response, revealsSecrets: options.has("reveal"))
    _ = try StandardOutput.write(description.text)
    return description.isUsable ? 0 : 1
  }

  private static func settings(_ path: String) throws(CommandError) -> Settings {
    do throws(ConfigurationError) {
      return try SettingsFile.load(path: path, environment: .system).settings
    } catch {
      throw CommandError(error)
    }
  }

  private static func ask(
    _ settings: Settings, for context: AuthorizationContext, _ path: String
  ) throws(CommandError) -> TokenProbe.Response {
    do {
      if let response = try TokenProbe.response(settings, as: .own, for: context, loop: try EventLoop()) {
        return response
      }
      throw CommandError(.unavailable, "no response")
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
