// SPDX-License-Identifier: Apache-2.0
import Daemon
import JSON
import Observability
import Release
import Varlink

/// The protocol of the socket for positions: Varlink, with one method.
enum PositionProtocol {
  /// The name of the Varlink interface.
  static let interface = "io.fleet-locationd.Positions"
  /// The methods of the interface.
  static let methods = [VarlinkService.Method("MonitorPositions", isStream: true)]

  private static let service = VarlinkService(
    vendor: "fleet-locationd", version: Release.version, interface: interface,
    description: String(decoding: PackageResources.io_fleet_locationd_Positions_varlink, as: UTF8.self),
    methods: methods)

  /// What to do with a message.
  static func action(for message: MessageFraming.Message) -> ControlProtocol.Action {
    guard case .varlink(let bytes) = message, let call = VarlinkCall(parsing: bytes) else { return .close }
    return switch service.handle(call) {
    case .reply(let reply): call.isOneway ? .nothing : .reply(reply.encoded)
    case .call: .ask(.monitorPositions, .varlink)
    }
  }

  /// One of the replies to `MonitorPositions`.
  static func encode(_ position: VehiclePosition) -> [UInt8] {
    let value = try? JSONValue(encoding: position)
    return VarlinkReply(value.map { ["position": $0] } ?? [:], continues: true).encoded
  }
}
