// SPDX-License-Identifier: Apache-2.0
import ControlSocket
import Daemon
import EventLoop
import Glibc
import Observability
import SystemCalls
import Varlink
import Vehicle

/// Receives the requests of other programs.
protocol RequestOwner: AnyObject {
  func pass(_ input: Daemon.Input)
  func write(_ event: Event)
}

/// The sockets for other programs on the machine: requests are passed to `Daemon`, and its responses and what clients
/// monitor are sent to them.
final class LocalSockets {
  /// The environment variable that names the directory of the socket for positions; the units set it.
  static let positionsVariable = "FLEET_POSITIONS"

  private let loop: EventLoop
  private weak var owner: (any RequestOwner)?
  private var controlServer: ControlServer?
  private var positionServer: ControlServer?
  private var servesPositions = false
  /// Why the sockets could not be made, as reported; nil if they were.
  private var controlProblem: String?
  private var positionProblem: String?
  /// The handlers of the responses, by the IDs of their requests.
  private var responseHandlers: [UInt64: (Daemon.Response) -> Void] = [:]
  private var lastRequestID: UInt64 = 0

  init(loop: EventLoop, owner: any RequestOwner) {
    self.loop = loop
    self.owner = owner
  }

  // MARK: - The sockets

  /// Opens the control socket for `fleet-locationctl`. The daemon works even without it.
  func listen() {
    guard let path = ControlProtocol.socketPath else { return }
    do {
      let server = try ControlServer(loop: loop, path: path) { [weak self] message, client in
        self?.perform(ControlProtocol.action(for: message), for: client)
      }
      server.onLastMonitorGone = { [weak self] in self?.owner?.pass(.unmonitored) }
      controlServer = server
      controlProblem = nil
      // The monitors of the previous socket were disconnected with it.
      owner?.pass(.unmonitored)
    } catch {
      // The previous socket remains, with those who have connected to it.
      report(error.message, after: &controlProblem)
    }
  }

  /// Opens the socket for positions, unless it is already in place, or closes it.
  func servePositions(_ isOn: Bool) {
    servesPositions = isOn
    positionProblem = nil
    if isOn, positionServer?.isInPlace == true { return }
    positionServer = nil
    owner?.pass(.positionsUnmonitored)
    if isOn { listenForPositions() }
  }

  private func listenForPositions() {
    do throws(ControlSocketError) {
      let server = try ControlServer(loop: loop, path: try Self.positionsPath(), isForOwnGroup: false) {
        [weak self] message, client in
        self?.perform(PositionProtocol.action(for: message), for: client)
      }
      server.onLastMonitorGone = { [weak self] in self?.owner?.pass(.positionsUnmonitored) }
      positionServer = server
      positionProblem = nil
    } catch {
      report("positions.socket: \(error.message)", after: &positionProblem)
    }
  }

  /// Makes each socket that could not be made, or whose file was deleted or replaced.
  func restore() {
    if ControlProtocol.socketPath != nil, !isListening { listen() }
    guard servesPositions, positionServer?.isInPlace != true else { return }
    positionServer = nil
    owner?.pass(.positionsUnmonitored)
    listenForPositions()
  }

  /// Reports why a socket cannot be made, unless that was the last report.
  private func report(_ problem: String, after last: inout String?) {
    if problem != last { owner?.write(.settingsWarning(problem)) }
    last = problem
  }

  /// Whether clients can connect to the control socket.
  var isListening: Bool { controlServer?.isInPlace == true }

  /// - Throws: code `failed` if there is no directory, if other users have access to it, or if its group can write to
  ///   it: only its group may connect, and only its owner may make a socket.
  private static func positionsPath() throws(ControlSocketError) -> String {
    guard let directory = Environment.value(of: positionsVariable), !directory.isEmpty else {
      throw ControlSocketError(
        .failed,
        "the directory is not known; the unit must set it, as the packaged unit does: "
          + "Environment=\(positionsVariable)=\(LocalSocket.positionsDirectory)")
    }
    let mode: mode_t
    do throws(Errno) {
      mode = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).status().st_mode
    } catch {
      throw ControlSocketError(
        .failed, "\(directory): \(error); systemd-tmpfiles --create makes the directory, then restart the service",
        cause: error)
    }
    guard mode & 0o027 == 0 else {
      throw ControlSocketError(
        .failed, "\(directory): users other than its owner and group have access to it, or its group can write to it")
    }
    return LocalSocket.positions.path(of: RuntimeDirectory.path ?? "fleet-locationd", positions: directory)
  }

  // MARK: - Requests

  private func perform(_ action: ControlProtocol.Action, for client: ControlConnection) {
    switch action {
    case .ask(.monitor, _): monitor(.monitor, controlServer, ControlProtocol.interface, for: client)
    case .ask(.monitorPositions, _): monitor(.monitorPositions, positionServer, PositionProtocol.interface, for: client)
    case .ask(let request, let form): ask(request) { client.answer(ControlProtocol.encode($0, as: form)) }
    case .reply(let bytes): client.answer(bytes)
    case .nothing: client.answer(nil)
    case .close: client.close()
    }
  }

  private func monitor(
    _ request: Daemon.Request, _ server: ControlServer?, _ interface: String, for client: ControlConnection
  ) {
    guard let server else { return client.close() }
    guard server.monitorCount < ControlServer.maximumMonitors else {
      return client.answer(ControlProtocol.tooManyMonitors(ControlServer.maximumMonitors, in: interface))
    }
    ask(request) { response in
      guard let first = ControlProtocol.encode(response, as: .varlink, in: interface) else { return }
      if case .refused = response { return client.answer(first) }
      server.monitor(client, first: first)
      // The client may have disconnected already.
      if server.monitorCount == 0 { server.onLastMonitorGone?() }
    }
  }

  private func ask(_ request: Daemon.Request, _ reply: @escaping (Daemon.Response) -> Void) {
    lastRequestID += 1
    responseHandlers[lastRequestID] = reply
    owner?.pass(.request(id: lastRequestID, request))
  }

  /// Answers the request with this ID.
  func respond(_ id: UInt64, _ response: Daemon.Response) {
    responseHandlers.removeValue(forKey: id)?(response)
  }

  // MARK: - Monitors

  /// Programs that monitor the daemon.
  var monitors: StatusReport.Monitors {
    StatusReport.Monitors(connected: controlServer?.monitorCount ?? 0, dropped: controlServer?.droppedMonitors ?? 0)
  }

  /// Programs that monitor the positions; nil without a socket for them.
  var positionMonitors: StatusReport.Monitors? {
    positionServer.map { StatusReport.Monitors(connected: $0.monitorCount, dropped: $0.droppedMonitors) }
  }

  /// Sends an item to all programs that monitor the daemon.
  func publish(_ item: MonitorItem) {
    if let controlServer, controlServer.monitorCount > 0 { controlServer.publish(ControlProtocol.encode(item)) }
  }

  /// Sends a position to all programs that monitor the positions.
  func publish(_ position: VehiclePosition) {
    if let positionServer, positionServer.monitorCount > 0 {
      positionServer.publish(PositionProtocol.encode(position))
    }
  }
}
