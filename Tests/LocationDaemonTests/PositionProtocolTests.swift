// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import JSON
import Observability
import Testing
import Varlink

@testable import LocationDaemon

struct PositionProtocolTests {
  private func call(_ method: String, _ rest: String = "") -> ControlProtocol.Action {
    PositionProtocol.action(for: .varlink(Array(#"{"method":"\#(method)"\#(rest)}"#.utf8)))
  }

  private func error(_ action: ControlProtocol.Action) -> String? {
    if case .reply(let bytes) = action { VarlinkReply(parsing: bytes)?.error } else { nil }
  }

  @Test(
    "the positions socket has one method and none of the control socket's; line-protocol calls close the connection")
  func methods() {
    let method = "io.fleet-locationd.Positions.MonitorPositions"
    expectEqual(call(method, #","more":true"#), .ask(.monitorPositions, .varlink))
    expectEqual(error(call(method)), "org.varlink.service.ExpectedMore")
    expectEqual(call(method, #","oneway":true"#), .nothing)
    for method in ControlProtocol.Method.allCases {
      let name = "io.fleet-locationd.Control.\(method.rawValue)"
      expectEqual(error(call(name, #","more":true"#)), "org.varlink.service.InterfaceNotFound", "\(name)")
    }
    expectEqual(PositionProtocol.action(for: .line(Array(#"{"command":"status"}"#.utf8))), .close)
    expectEqual(PositionProtocol.action(for: .varlink([])), .close)
    let position = "io.fleet-locationd.Positions.MonitorPositions"
    let control = ControlProtocol.action(for: .varlink(Array(#"{"method":"\#(position)","more":true}"#.utf8)))
    expectEqual(error(control), "org.varlink.service.InterfaceNotFound")
  }

  @Test("the first reply has no position, and each later reply has one")
  func replies() {
    let first = ControlProtocol.encode(.monitoringPositions, as: .varlink, in: PositionProtocol.interface) ?? []
    expectEqual(String(decoding: first, as: UTF8.self), #"{"continues":true,"parameters":{}}"#)
    let least = VehiclePosition(latitude: 48.1, longitude: -11.5, time: "2026-11-26T09:00:00Z")
    expectEqual(
      String(decoding: PositionProtocol.encode(least), as: UTF8.self),
      #"{"continues":true,"parameters":{"position":{"latitude":48.1,"longitude":-11.5,"time":"2026-11-26T09:00:00Z"}}}"#
    )
  }

  @Test("the interface file declares the method, its replies and the errors, each with a comment")
  func declared() throws {
    let file = InterfaceFile(PositionProtocol.interface) { PositionProtocol.action(for: .varlink($0)) }
    expect(file.text.contains("\ninterface \(PositionProtocol.interface)\n"))
    expectEqual(file.names("method"), PositionProtocol.methods.map(\.name))
    expectEqual(file.fields("method", "MonitorPositions"), [[], ["position"]])
    let full = VehiclePosition(latitude: 1, longitude: 2, time: "t", accuracy: 3, speed: 4, course: 5)
    let reply = try #require(VarlinkReply(parsing: PositionProtocol.encode(full)))
    expect(reply.continues)
    expectEqual(reply.parameters["position"]?.object.map { [Set($0.keys)] }, file.fields("type", "Position"))
    var names: [String] = []
    for bytes in [
      ControlProtocol.encode(.refused(.stopping, "no"), as: .varlink, in: PositionProtocol.interface) ?? [],
      ControlProtocol.tooManyMonitors(16, in: PositionProtocol.interface),
    ] {
      let reply = try #require(VarlinkReply(parsing: bytes))
      let name = try #require(reply.error)
      expect(name.hasPrefix("\(PositionProtocol.interface)."))
      names.append(String(name.dropFirst(PositionProtocol.interface.utf8.count + 1)))
      expectEqual(names.last.flatMap { file.fields("error", $0) }, [Set(reply.parameters.keys)])
    }
    expectEqual(file.names("error"), names)
    expectEqual(file.uncommented, [])
  }
}
