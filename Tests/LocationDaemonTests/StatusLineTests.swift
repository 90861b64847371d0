// SPDX-License-Identifier: Apache-2.0
import ServiceManager
import Testing
import Timekeeping

@testable import Daemon
@testable import LocationDaemon
@testable import Delivery

@Suite struct StatusLineTests {
  private static let start = BootInstant.boot + .seconds(100)

  private static func shown() -> StatusLine {
    var line = StatusLine(ServiceNotifier())
    line.show("Online", at: start)
    return line
  }

  @Test("a line that has not been sent is due")
  func first() {
    #expect(StatusLine(ServiceNotifier()).isDue(after: [], at: Self.start))
  }

  @Test("the line is sent again after ten seconds of an outage, because of its ages")
  func ages() {
    let line = Self.shown()
    #expect(!line.isDue(after: [], at: Self.start + .milliseconds(9999)))
    #expect(line.isDue(after: [], at: Self.start + .seconds(10)))
  }

  @Test("notices are sent at once, results of updates at most once a second")
  func events() {
    let line = Self.shown()
    #expect(line.isDue(after: [.event(.stopping(.signal("SIGTERM")))], at: Self.start + .milliseconds(1)))
    let outcome = Daemon.Effect.event(.updateAccepted(past: 0, at: nil))
    #expect(!line.isDue(after: [outcome], at: Self.start + .milliseconds(999)))
    #expect(line.isDue(after: [outcome], at: Self.start + .seconds(1)))
  }
}
