// SPDX-License-Identifier: Apache-2.0
import Daemon
import EventLoop
import Expectations
import ExternalInput
import FileTesting
import FixSources
import LoopTesting
import Testing

@testable import Configuration
@testable import LocationDaemon

struct SourceLinesTests {
  private final class Owner: LineOwner {
    var text = ""

    func pass(_ input: SourceInput, of id: Int) {}
    func receive(_ bytes: Span<UInt8>, from sender: SourceSender, of id: Int) {
      for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
    }
    func admit(_ address: IPAddress, to id: Int) -> NMEANetworkSession.Admission? { nil }
  }

  @Test("a source is read from its own line, even if other settings were prepared and not used before")
  func unusedSettings() throws {
    let directory = try TemporaryDirectory()
    let loop = try EventLoop()
    let owner = Owner()
    let lines = SourceLines(loop: loop, owner: owner)
    for text in ["unused", "used"] {
      let file = try directory.write(text, to: text)
      let source = Settings.Source(kind: .replay(ReplaySettings(file: file)), silenceTimeout: .seconds(10))
      _ = try lines.make([source], [.init(id: 1, isNew: true)])
    }
    lines.perform(.read, of: 1)
    expect(try loop.runs { !owner.text.isEmpty })
    expectEqual(owner.text, "used")
  }
}
