// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Varlink

struct MessageFramingTests {
  private func messages(_ portions: String..., limit: Int = 100) -> [MessageFraming.Message] {
    var framing = MessageFraming(limit: limit)
    var messages: [MessageFraming.Message] = []
    for portion in portions {
      framing.append(portion.utf8)
      while let message = framing.next() { messages.append(message) }
    }
    return messages
  }

  private func call(_ text: String) -> MessageFraming.Message { .varlink(Array(text.utf8)) }

  @Test("messages end with NUL, however they are split; an unterminated message is not delivered")
  func varlink() {
    expectEqual(messages("{}\0{\"a\":1}\0{"), [call("{}"), call("{\"a\":1}")])
    expectEqual(messages("{", "}", "\0", "\0"), [call("{}"), call("")])
    expect(messages("") == [] && messages("{}") == [])
  }

  @Test("the first terminator decides the protocol of the connection")
  func first() {
    expectEqual(messages("{}\n{}\0x\n"), [.line(Array("{}".utf8)), .line(Array("{}\0x".utf8))])
    expectEqual(messages("{}\0\n{}\n\0"), [call("{}"), call("\n{}\n")])
  }

  @Test("a message that exceeds the limit is not delivered, terminated or not", arguments: ["", "\0", "\n"])
  func limit(end: String) {
    for (count, isTooLong) in [(100, false), (101, true)] {
      var framing = MessageFraming(limit: 100)
      framing.append(String(repeating: "x", count: count).utf8)
      framing.append(end.utf8)
      expectEqual(framing.isTooLong, isTooLong)
      expectEqual((framing.next() == nil), (isTooLong || end.isEmpty))
    }
  }
}
