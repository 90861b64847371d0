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

@Suite struct ControlProtocolTests {
  private func call(_ method: String, _ rest: String = "") -> ControlProtocol.Action {
    ControlProtocol.action(
      for: .varlink(Array(#"{"method":"io.fleet-locationd.Control.\#(method)"\#(rest)}"#.utf8)))
  }

  private func line(_ text: String) -> ControlProtocol.Action { ControlProtocol.action(for: .line(Array(text.utf8))) }

  private func text(_ response: Daemon.Response, _ form: ControlProtocol.ReplyForm) -> String? {
    ControlProtocol.encode(response, as: form).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("each method asks the daemon one thing")
  func methods() {
    expectEqual(call("GetStatus"), .ask(.status, .varlink))
    expectEqual(call("GetMetrics"), .ask(.metrics, .varlink))
    expectEqual(call("Pause"), .ask(.drive(.pause), .varlink))
    expectEqual(call("Resume"), .ask(.drive(.resume), .varlink))
    expectEqual(call("SetOnline", #","parameters":{"online":true}"#), .ask(.drive(.online), .varlink))
    expectEqual(call("SetOnline", #","parameters":{"online":false}"#), .ask(.drive(.offline), .varlink))
    expectEqual(call("SendNow"), .ask(.sendNow, .varlink))
    expectEqual(call("Reload", #","oneway":true"#), .ask(.reload, .none))
    expectEqual(call("Monitor", #","more":true"#), .ask(.monitor, .varlink))
    expectEqual(call("Monitor"), .reply(Array(#"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#.utf8)))
  }

  @Test("what is no call closes the connection; a wrong one has a standard error, unless no reply is wanted")
  func mistakes() {
    expectEqual(ControlProtocol.action(for: .varlink([])), .close)
    let error = #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"online"}}"#
    expectEqual(call("SetOnline"), .reply(Array(error.utf8)))
    expectEqual(call("SetOnline", #","oneway":true"#), .nothing)
  }

  @Test("the lines of earlier releases are requests as before")
  func lines() {
    for (command, request) in [
      ("status", Daemon.Request.status), ("metrics", .metrics), ("reload", .reload), ("pause", .drive(.pause)),
      ("resume", .drive(.resume)), ("offline", .drive(.offline)), ("online", .drive(.online)),
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

  @Test("a response as a line, and as a reply")
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

  // MARK: - The interface's file

  /// The interface as the daemon serves it.
  private static let description: String = {
    let call = VarlinkCall(
      "org.varlink.service", "GetInterfaceDescription", ["interface": .string(ControlProtocol.interface)])
    guard case .reply(let bytes) = ControlProtocol.action(for: .varlink(call.encoded)) else { return "" }
    return VarlinkReply(parsing: bytes)?.parameters["description"]?.string ?? ""
  }()

  /// The names of the fields of what `word NAME` declares, in one list for each pair of parentheses.
  private static func fields(_ word: String, _ name: String) -> [Set<String>]? {
    let code = description.split(separator: "\n").filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("#") }
      .joined(separator: "\n")
    guard let start = code.firstRange(of: "\n\(word) \(name) (") ?? code.firstRange(of: "\n\(word) \(name)(")
    else { return nil }
    let rest = code[start.lowerBound...].dropFirst()
    let end = ["\nmethod ", "\nerror ", "\ntype "].compactMap { rest.firstRange(of: $0)?.lowerBound }.min()
    let declaration = rest[..<(end ?? rest.endIndex)]
    return declaration.split(separator: "(").dropFirst().map { list in
      Set(
        list.prefix { $0 != ")" }.split(separator: ",").compactMap {
          $0.split(separator: ":").first?.split(whereSeparator: \.isWhitespace).first.map(String.init)
        })
    }
  }

  private static func names(_ word: String) -> [String] {
    description.split(separator: "\n").filter { $0.hasPrefix("\(word) ") }.map {
      String($0.dropFirst(word.count + 1).prefix { $0 != " " && $0 != "(" })
    }
  }

  @Test("the file declares the methods that there are, with their parameters and what they return")
  func declaredMethods() throws {
    expect(Self.description.contains("\ninterface \(ControlProtocol.interface)\n"))
    expectEqual(Self.names("method"), ControlProtocol.Method.allCases.map(\.rawValue))
    for method in ControlProtocol.Method.allCases where method != .monitor {
      let fields = try #require(Self.fields("method", method.rawValue))
      expectEqual(fields.count, 2)
      let parameters: Set<String> = method == .setOnline ? ["online"] : []
      expectEqual(fields.first, parameters, "\(method)")
      let response: Daemon.Response =
        switch method {
        case .getStatus: .status(StatusReport(MissingSettings(""), pause: nil))
        case .getMetrics: .metrics("")
        case .pause, .resume, .setOnline, .sendNow, .reload, .monitor: .done(remark: "x")
        }
      let reply = try #require(ControlProtocol.encode(response, as: .varlink).flatMap { VarlinkReply(parsing: $0) })
      expectEqual(fields.last, Set(reply.parameters.keys), "\(method)")
    }
  }

  @Test("the file declares what a monitor is sent")
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
      expectEqual(Self.fields("type", type), [Set(try #require(value.object).keys)], "\(type)")
    }
    expectEqual(Self.fields("method", "Monitor"), [[], names])
  }

  @Test("the file declares the errors that there are, with their fields and reasons")
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
      expectEqual(Self.fields("error", name), [Set(reply.parameters.keys)], "\(name)")
      if let reason = reply.parameters["reason"]?.string { expect(Self.description.contains("\(reason):")) }
    }
    let tooMany = try #require(VarlinkReply(parsing: ControlProtocol.tooManyMonitors(16)))
    names.insert("TooManyMonitors")
    expectEqual(tooMany.error, "\(ControlProtocol.interface).TooManyMonitors")
    expectEqual(Self.fields("error", "TooManyMonitors"), [Set(tooMany.parameters.keys)])
    expect(Set(Self.names("error")) == names && Self.names("error").count == names.count)
  }

  @Test("each method, field and error has a comment")
  func comments() {
    var before: Substring = ""
    for line in Self.description.split(separator: "\n", omittingEmptySubsequences: false) {
      let code = line.trimmingPrefix(while: \.isWhitespace)
      let isDeclared = ["method ", "error ", "type ", "interface "].contains { line.hasPrefix($0) }
      // Of an error's sentence the head of the file speaks.
      let isField = line.hasPrefix("  ") && !code.hasPrefix("#") && code != "message: string"
      if isDeclared || isField { expect(before.contains("#"), "\(line)") }
      before = line
    }
  }
}
