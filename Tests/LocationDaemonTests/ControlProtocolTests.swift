// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Daemon
import Expectations
import JSON
import Testing
import Varlink
import Vehicle

@testable import LocationDaemon
@testable import Observability

struct ControlProtocolTests {
  private func call(_ method: String, _ rest: String = "") -> ControlProtocol.Action {
    ControlProtocol.action(
      for: .varlink(Array(#"{"method":"io.fleet-locationd.Control.\#(method)"\#(rest)}"#.utf8)))
  }

  private func line(_ text: String) -> ControlProtocol.Action { ControlProtocol.action(for: .line(Array(text.utf8))) }

  private func text(_ response: Daemon.Response, _ form: ControlProtocol.ReplyForm) -> String? {
    ControlProtocol.encode(response, as: form).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("each method of the control interface becomes one request to the daemon")
  func methods() {
    expectEqual(call("GetStatus"), .ask(.status, .varlink))
    expectEqual(call("GetMetrics"), .ask(.metrics, .varlink))
    expectEqual(call("Pause"), .ask(.driverCommand(.pause), .varlink))
    expectEqual(call("Resume"), .ask(.driverCommand(.resume), .varlink))
    expectEqual(call("SetOnline", #","parameters":{"online":true}"#), .ask(.driverCommand(.online), .varlink))
    expectEqual(call("SetOnline", #","parameters":{"online":false}"#), .ask(.driverCommand(.offline), .varlink))
    expectEqual(call("SendNow"), .ask(.sendNow, .varlink))
    expectEqual(call("Reload", #","oneway":true"#), .ask(.reload, .none))
    for (seconds, limit) in [(600, 600), (1, 60), (Int64.max, 86_400)] as [(Int64, Int64)] {
      expectEqual(
        call("ReloadAndConfirm", #","parameters":{"seconds":\#(seconds)}"#),
        .ask(.confirmedReload(within: .seconds(limit)), .varlink))
    }
    expectEqual(call("Monitor", #","more":true"#), .ask(.monitor, .varlink))
    expectEqual(call("Monitor"), .reply(Array(#"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#.utf8)))
  }

  @Test("a malformed call closes the connection; wrong parameters get a standard error, unless the call is one-way")
  func mistakes() {
    expectEqual(ControlProtocol.action(for: .varlink([])), .close)
    let error = #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"online"}}"#
    expectEqual(call("SetOnline"), .reply(Array(error.utf8)))
    expectEqual(call("SetOnline", #","oneway":true"#), .nothing)
  }

  @Test("requests in the line protocol of earlier releases are understood; any other line gets an error")
  func lines() {
    for (command, request) in [
      ("status", Daemon.Request.status), ("metrics", .metrics), ("reload", .reload), ("pause", .driverCommand(.pause)),
      ("resume", .driverCommand(.resume)), ("offline", .driverCommand(.offline)), ("online", .driverCommand(.online)),
    ] {
      expectEqual(line(#"{"command":"\#(command)"}"#), .ask(request, .line))
    }
    for text in ["", "x", "{}", #"{"command":1}"#, #"{"command":"GetStatus"}"#] {
      guard case .reply(let bytes) = line(text) else {
        Issue.record("\(text) is a request")
        continue
      }
      expect(String(decoding: bytes, as: UTF8.self).hasPrefix(#"{"error":""#))
    }
  }

  @Test("a response is encoded as a line of JSON or as a Varlink reply")
  func responses() throws {
    expectEqual(text(.done(remark: nil), .line), #"{"done":true}"#)
    expectEqual(text(.done(remark: "why"), .line), #"{"done":true,"remark":"why"}"#)
    expectEqual(text(.done(remark: nil), .varlink), #"{"parameters":{}}"#)
    expectEqual(text(.done(remark: "why"), .varlink), #"{"parameters":{"remark":"why"}}"#)
    expectEqual(text(.metrics("a 1\n"), .line), #"{"metrics":"a 1\n"}"#)
    expectEqual(text(.metrics("a 1\n"), .varlink), #"{"parameters":{"metrics":"a 1\n"}}"#)
    expectEqual(text(.refused(.stopping, "no"), .line), #"{"error":"no"}"#)
    expectEqual(
      text(.refused(.stopping, "no"), .varlink),
      #"{"error":"io.fleet-locationd.Control.Stopping","parameters":{"message":"no"}}"#)
    expectNil(text(.done(remark: nil), .none))
    let report = StatusReport(MissingSettings("no file"), pause: nil)
    let status = try #require(text(.status(report), .line))
    expectEqual(text(.status(report), .varlink), #"{"parameters":{"status":\#(status)}}"#)
  }

  // MARK: - The interface file

  private static let file = InterfaceFile(ControlProtocol.interface) { ControlProtocol.action(for: .varlink($0)) }

  @Test("the interface file declares all methods, with their parameters and return values")
  func declaredMethods() throws {
    expect(Self.file.text.contains("\ninterface \(ControlProtocol.interface)\n"))
    expectEqual(Self.file.names("method"), ControlProtocol.Method.allCases.map(\.rawValue))
    for method in ControlProtocol.Method.allCases where method != .monitor {
      let fields = try #require(Self.file.fields("method", method.rawValue))
      expectEqual(fields.count, 2)
      let parameters: Set<String> =
        switch method {
        case .setOnline: ["online"]
        case .reloadAndConfirm: ["seconds"]
        default: []
        }
      expectEqual(fields.first, parameters, "\(method)")
      let response: Daemon.Response =
        switch method {
        case .getStatus: .status(StatusReport(MissingSettings(""), pause: nil))
        case .getMetrics: .metrics("")
        case .pause, .resume, .setOnline, .sendNow, .reload, .reloadAndConfirm, .monitor: .done(remark: "x")
        }
      let reply = try #require(ControlProtocol.encode(response, as: .varlink).flatMap { VarlinkReply(parsing: $0) })
      expectEqual(fields.last, Set(reply.parameters.keys), "\(method)")
    }
  }

  @Test("the interface file declares the replies of Monitor")
  func declaredItems() throws {
    let state = MonitorItem.State(
      summary: "s", cause: "c", level: "good", isOnline: true, isPaused: false, duty: "ONLINE", vehicleState: "ONLINE",
      isOfflinePending: false)
    let update = MonitorItem.Update(
      result: "network", past: 0, milliseconds: 1, message: "m", retryIn: 1, driverCode: "SERVICE_ERROR")
    let event = MonitorItem.Event(
      name: "n", level: "info", sentence: "s", driverLevel: "INFO", driverCode: "UNKNOWN_ERROR")
    var names: Set<String> = []
    for (type, item) in [("State", MonitorItem.state(state)), ("Update", .update(update)), ("Event", .event(event))] {
      let reply = try #require(VarlinkReply(parsing: ControlProtocol.encode(item)))
      expect(reply.continues && reply.parameters.count == 1)
      let (name, value) = try #require(reply.parameters.first)
      names.insert(name)
      expectEqual(Self.file.fields("type", type), [Set(try #require(value.object).keys)], "\(type)")
    }
    expectEqual(Self.file.fields("method", "Monitor"), [[], names])
  }

  @Test("the interface file declares all errors, with their fields and reasons")
  func declaredErrors() throws {
    let refusals: [Daemon.Refusal] =
      [.stopping, .settingsRefused, .settingsMissing] + DutyRefusal.allCases.map { .duty($0) }
      + SendRefusal.allCases.map { .send($0) }
    var names: Set<String> = []
    for refusal in refusals {
      let bytes = try #require(ControlProtocol.encode(.refused(refusal, "no"), as: .varlink))
      let reply = try #require(VarlinkReply(parsing: bytes))
      let name = try #require(reply.error?.split(separator: ".").last.map(String.init))
      names.insert(name)
      expectEqual(Self.file.fields("error", name), [Set(reply.parameters.keys)], "\(name)")
      if let reason = reply.parameters["reason"]?.string { expect(Self.file.text.contains("\(reason):")) }
    }
    let tooMany = try #require(
      VarlinkReply(parsing: ControlProtocol.tooManyMonitors(16, in: ControlProtocol.interface)))
    names.insert("TooManyMonitors")
    expectEqual(tooMany.error, "\(ControlProtocol.interface).TooManyMonitors")
    expectEqual(Self.file.fields("error", "TooManyMonitors"), [Set(tooMany.parameters.keys)])
    expect(Set(Self.file.names("error")) == names && Self.file.names("error").count == names.count)
  }

  @Test("the interface file has a comment for each method, type, field and error")
  func comments() { expectEqual(Self.file.uncommented, []) }
}
