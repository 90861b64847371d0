// SPDX-License-Identifier: Apache-2.0
import ControlSocket
import Daemon
import JSON
import Observability
import Release
import Varlink
import Vehicle

/// The protocol of the control socket: Varlink, and also the lines of releases before 0.3.0, which an older
/// `fleet-locationctl` uses between a downgrade and the restart of the daemon. A line is a JSON object, and so is its
/// response, after which the connection is closed.
enum ControlProtocol {
  /// In the service's runtime directory; nil if it runs without systemd.
  static var socketPath: String? { RuntimeDirectory.path.map { LocalSocket.control.path(of: $0) } }

  /// The name of the Varlink interface.
  static let interface = "io.fleet-locationd.Control"

  /// What to do with a message of a client.
  nonisolated enum Action: Equatable {
    /// Ask the daemon, and send the client `encode` of its response.
    case ask(Daemon.Request, ReplyForm)
    /// Send the client this.
    case reply([UInt8])
    /// Nothing: no reply is wanted.
    case nothing
    /// Close the connection: what was received is not a message.
    case close
  }

  /// How a response is sent.
  nonisolated enum ReplyForm: Equatable {
    case line
    case varlink
    /// It is not sent.
    case none
  }

  /// The methods of the interface, and what each asks the daemon.
  nonisolated enum Method: String, CaseIterable {
    case getStatus = "GetStatus"
    case getMetrics = "GetMetrics"
    case pause = "Pause"
    case resume = "Resume"
    case setOnline = "SetOnline"
    case sendNow = "SendNow"
    case reload = "Reload"
    case reloadAndConfirm = "ReloadAndConfirm"
    case monitor = "Monitor"

    fileprivate var varlinkMethod: VarlinkService.Method {
      VarlinkService.Method(rawValue, parameters, isStream: self == .monitor)
    }

    private var parameters: [String: VarlinkService.ParameterType] {
      switch self {
      case .setOnline: ["online": .bool]
      case .reloadAndConfirm: ["seconds": .int]
      default: [:]
      }
    }

    fileprivate func request(_ parameters: [String: JSONValue]) -> Daemon.Request {
      switch self {
      case .getStatus: .status
      case .getMetrics: .metrics
      case .pause: .driverCommand(.pause)
      case .resume: .driverCommand(.resume)
      case .setOnline: .driverCommand(parameters["online"]?.bool == true ? .online : .offline)
      case .sendNow: .sendNow
      case .reload: .reload
      case .reloadAndConfirm:
        .confirmedReload(within: .seconds(min(max(parameters["seconds"]?.integer ?? 0, 60), 86_400)))
      case .monitor: .monitor
      }
    }
  }

  private static let service = VarlinkService(
    vendor: "fleet-locationd", version: Release.version, interface: interface,
    description: String(decoding: PackageResources.io_fleet_locationd_Control_varlink, as: UTF8.self),
    methods: Method.allCases.map(\.varlinkMethod))

  // MARK: - Requests

  /// What to do with a message.
  static func action(for message: MessageFraming.Message) -> Action {
    switch message {
    case .varlink(let bytes):
      guard let call = VarlinkCall(parsing: bytes) else { return .close }
      switch service.handle(call) {
      case .reply(let reply): return call.isOneway ? .nothing : .reply(reply.encoded)
      case .call(let found):
        guard let method = Method(rawValue: found.name) else { return .close }
        return .ask(method.request(call.parameters), call.isOneway ? .none : .varlink)
      }
    case .line(let bytes):
      guard let command = (try? JSONValue(parsing: bytes))?["command"]?.string else {
        return .reply(errorLine("expected {\"command\": \"…\"}"))
      }
      guard let request = request(command) else {
        return .reply(
          errorLine(
            "unknown command; expected \"status\", \"metrics\", \"reload\", \"pause\", \"resume\", \"offline\" or \"online\""
          ))
      }
      return .ask(request, .line)
    }
  }

  private static func request(_ command: String) -> Daemon.Request? {
    switch command {
    case "status": .status
    case "metrics": .metrics
    case "reload": .reload
    default: Daemon.DriverCommand(rawValue: command).map { .driverCommand($0) }
    }
  }

  // MARK: - Responses

  /// The daemon's response; nil if none is sent.
  ///
  /// - Parameter interface: the interface whose errors the reply may contain.
  static func encode(
    _ response: Daemon.Response, as form: ReplyForm, in interface: String = interface
  ) -> [UInt8]? {
    switch form {
    case .line: line(response)
    case .varlink: reply(response, in: interface).encoded
    case .none: nil
    }
  }

  private static func line(_ response: Daemon.Response) -> [UInt8] {
    switch response {
    case .status(let report):
      (try? JSONValue(encoding: report).encoded) ?? errorLine("the response cannot be encoded")
    case .metrics(let text): JSONValue.object(["metrics": .string(text)]).encoded
    case .done(let remark):
      JSONValue.object(members(remark: remark).merging(["done": .bool(true)]) { $1 }).encoded
    // No line requests monitoring.
    case .monitoring, .monitoringPositions: errorLine("not in a line")
    case .refused(_, let why): errorLine(why)
    }
  }

  private static func errorLine(_ message: String) -> [UInt8] {
    JSONValue.object(["error": .string(message)]).encoded
  }

  private static func members(remark: String?) -> [String: JSONValue] {
    remark.map { ["remark": .string($0)] } ?? [:]
  }

  /// One of the replies to `Monitor`.
  static func encode(_ item: MonitorItem) -> [UInt8] { reply(item).encoded }

  private static func reply(_ item: MonitorItem) -> VarlinkReply {
    let (name, value): (String, JSONValue?) =
      switch item {
      case .event(let event): ("event", try? JSONValue(encoding: event))
      case .update(let update): ("update", try? JSONValue(encoding: update))
      case .state(let state): ("state", try? JSONValue(encoding: state))
      }
    return VarlinkReply(value.map { [name: $0] } ?? [:], continues: true)
  }

  /// The reply to a monitor that exceeds the maximum number.
  static func tooManyMonitors(_ maximum: Int, in interface: String) -> [UInt8] {
    VarlinkReply(
      error: "\(interface).TooManyMonitors",
      ["maximum": .integer(Int64(maximum)), "message": .string("\(maximum) programs monitor this already")]
    ).encoded
  }

  private static func reply(_ response: Daemon.Response, in interface: String) -> VarlinkReply {
    switch response {
    case .status(let report): return VarlinkReply(["status": (try? JSONValue(encoding: report)) ?? .object([:])])
    case .metrics(let text): return VarlinkReply(["metrics": .string(text)])
    case .done(let remark): return VarlinkReply(members(remark: remark))
    case .monitoring(let state): return reply(.state(state))
    case .monitoringPositions: return VarlinkReply(continues: true)
    case .refused(let refusal, let why):
      var fields: [String: JSONValue] = ["message": .string(why)]
      if let reason = refusal.reason { fields["reason"] = .string(reason) }
      return VarlinkReply(error: "\(interface).\(refusal.name)", fields)
    }
  }
}

extension Daemon.Refusal {
  /// The name of the error without its interface.
  fileprivate var name: String {
    switch self {
    case .stopping: "Stopping"
    case .settingsRefused: "SettingsRefused"
    case .settingsMissing: "SettingsMissing"
    case .duty: "DutyRefused"
    case .send: "NothingToSend"
    }
  }

  fileprivate var reason: String? {
    switch self {
    case .stopping, .settingsRefused, .settingsMissing: nil
    case .duty(let refusal): refusal.rawValue
    case .send(let refusal): refusal.rawValue
    }
  }
}
