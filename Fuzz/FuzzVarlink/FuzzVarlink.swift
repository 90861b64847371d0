// SPDX-License-Identifier: Apache-2.0
// Feeds the framing of the control socket with inputs from libFuzzer, whole and byte by byte, with the same result, and
// each message to a service. A call and a reply are the same after they were written and read again.
//
//   scripts/fuzz.sh 60 FuzzVarlink
import JSON
import Varlink

private let service = VarlinkService(
  vendor: "v", version: "1", interface: "a.b", description: "interface a.b",
  methods: [.init("Get"), .init("Set", ["on": .bool]), .init("Watch", isStream: true)])

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let (whole, parts) = (messages([input]), messages(input.map { [$0] }))
  precondition(whole.messages == parts.messages && whole.isTooLong == parts.isTooLong, "a split changes the result")
  var isVarlink: Bool?
  for message in whole.messages {
    switch message {
    case .line: precondition(isVarlink != true, "a line after a call")
    case .varlink(let bytes): answer(bytes)
    }
    if case .varlink = message { isVarlink = true } else { isVarlink = false }
  }
  return 0
}

private func messages(_ portions: [[UInt8]]) -> (messages: [MessageFraming.Message], isTooLong: Bool) {
  var framing = MessageFraming(limit: 512)
  var messages: [MessageFraming.Message] = []
  for portion in portions {
    framing.append(portion)
    while let message = framing.next() { messages.append(message) }
    if framing.isTooLong { break }
  }
  return (messages, framing.isTooLong)
}

private func answer(_ message: [UInt8]) {
  guard let call = VarlinkCall(parsing: message) else { return }
  if !call.isUpgrade, !call.interface.isEmpty {
    precondition(VarlinkCall(parsing: call.encoded) == call, "the written call is another one")
  }
  switch service.handle(call) {
  case .call(let method): precondition(method.name == call.method && call.interface == "a.b")
  case .reply(let reply):
    precondition(VarlinkReply(parsing: reply.encoded) == reply, "the written reply is another one")
  }
}
