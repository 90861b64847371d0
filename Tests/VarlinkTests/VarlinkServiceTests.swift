// SPDX-License-Identifier: Apache-2.0
import Expectations
import JSON
import Testing
import Varlink

struct VarlinkServiceTests {
  private let service = VarlinkService(
    vendor: "maker", version: "1.2", interface: "io.example.Thing", description: "interface io.example.Thing",
    methods: [
      .init("Get"), .init("Set", ["name": .string, "on": .bool]), .init("Wait", ["seconds": .int]),
      .init("Watch", isStream: true),
    ])

  /// The service's reply as text, or `call NAME` for a valid call of the interface; nil if the message is not a call.
  private func answer(_ message: String) -> String? {
    guard let call = VarlinkCall(parsing: Array(message.utf8)) else { return nil }
    switch service.handle(call) {
    case .call(let method): return "call \(method.name)"
    case .reply(let reply): return String(decoding: reply.encoded, as: UTF8.self)
    }
  }

  @Test(
    "a message that is not a call gets no reply",
    arguments: [
      "", "x", "[]", "{}", #"{"method":1}"#, #"{"method":"a.B","parameters":[]}"#, #"{"method":"a.B","more":1}"#,
      #"{"method":"a.B","oneway":"yes"}"#, #"{"method":"a.B","upgrade":{}}"#,
      #"{"method":"a.B","parameters":{"a":[\#(String(repeating: "0,", count: 300))0]}}"#,
    ])
  func noCall(message: String) {
    expectNil(answer(message))
  }

  @Test("calls of the interface are accepted if their parameters have the declared types")
  func calls() {
    expectEqual(answer(#"{"method":"io.example.Thing.Get"}"#), "call Get")
    expectEqual(answer(#"{"method":"io.example.Thing.Get","parameters":null,"more":false,"oneway":null}"#), "call Get")
    expectEqual(answer(#"{"method":"io.example.Thing.Get","parameters":{},"more":true,"x":[1]}"#), "call Get")
    expectEqual(answer(#"{"method":"io.example.Thing.Set","parameters":{"on":true,"name":""}}"#), "call Set")
    expectEqual(answer(#"{"method":"io.example.Thing.Wait","parameters":{"seconds":60}}"#), "call Wait")
    expectEqual(
      answer(#"{"method":"io.example.Thing.Wait","parameters":{"seconds":"60"}}"#),
      #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"seconds"}}"#)
    expectEqual(answer(#"{"method":"io.example.Thing.Watch","more":true}"#), "call Watch")
  }

  @Test(
    "each mistake gets its standard error, with the name of the invalid part",
    arguments: [
      (#"{"method":"GetInfo"}"#, #"InterfaceNotFound","parameters":{"interface":""}"#),
      (#"{"method":"io.example.Other.Get"}"#, #"InterfaceNotFound","parameters":{"interface":"io.example.Other"}"#),
      (#"{"method":"io.example.Thing.get"}"#, #"MethodNotFound","parameters":{"method":"io.example.Thing.get"}"#),
      (#"{"method":"org.varlink.service.Set"}"#, #"MethodNotFound","parameters":{"method":"org.varlink.service.Set"}"#),
      (
        #"{"method":"io.example.Thing.Get","parameters":{"a":1}}"#, #"InvalidParameter","parameters":{"parameter":"a"}"#
      ),
      (
        #"{"method":"io.example.Thing.Set","parameters":{"name":"a"}}"#,
        #"InvalidParameter","parameters":{"parameter":"on"}"#
      ),
      (
        #"{"method":"io.example.Thing.Set","parameters":{"name":true,"on":true}}"#,
        #"InvalidParameter","parameters":{"parameter":"name"}"#
      ),
      (
        #"{"method":"io.example.Thing.Get","upgrade":true}"#, #"InvalidParameter","parameters":{"parameter":"upgrade"}"#
      ),
      (#"{"method":"io.example.Thing.Watch"}"#, #"ExpectedMore","parameters":{}"#),
      (#"{"method":"io.example.Thing.Watch","more":true,"oneway":true}"#, #"ExpectedMore","parameters":{}"#),
      (
        #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"a.b"}}"#,
        #"InterfaceNotFound","parameters":{"interface":"a.b"}"#
      ),
    ])
  func mistakes(message: String, error: String) {
    expectEqual(answer(message), #"{"error":"org.varlink.service.\#(error)}"#)
  }

  @Test("the service reports its identity, and describes both interfaces")
  func standard() throws {
    expectEqual(
      answer(#"{"method":"org.varlink.service.GetInfo"}"#),
      #"{"parameters":{"interfaces":["org.varlink.service","io.example.Thing"],"product":"maker","url":"","#
        + #""vendor":"maker","version":"1.2"}}"#)
    func description(_ name: String) -> String? {
      answer(#"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"\#(name)"}}"#)
    }
    expectEqual(description("io.example.Thing"), #"{"parameters":{"description":"interface io.example.Thing"}}"#)
    let standard = try #require(description("org.varlink.service"))
    for word in ["method GetInfo()", "method GetInterfaceDescription(", "error MethodNotFound", "error ExpectedMore"] {
      expect(standard.contains(word), "\(word)")
    }
  }

  @Test("calls and replies are parsed back as they were encoded")
  func roundTrip() {
    let calls = [
      VarlinkCall("a.b", "C"), VarlinkCall("a.b", "C", ["d": .bool(false)], isOneway: true),
      VarlinkCall("a.b", "C", acceptsMore: true),
    ]
    for call in calls { expectEqual(VarlinkCall(parsing: call.encoded), call) }
    let replies = [
      VarlinkReply(), VarlinkReply(["a": .string("\0")], continues: true),
      VarlinkReply(error: "a.b.C", ["d": .integer(1)]),
    ]
    for reply in replies {
      expectEqual(VarlinkReply(parsing: reply.encoded), reply)
      expect(!reply.encoded.contains(0))
    }
    expectNil(VarlinkReply(parsing: Array("[]".utf8)))
  }
}
