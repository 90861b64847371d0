// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Daemon

struct SettingsLifecycleTests {
  private func second(_ seconds: Int) -> BootInstant { .boot + .seconds(seconds) }

  @Test("settings become the last working ones, once, when the first update that was sent with them is accepted")
  func proven() {
    var settings = SettingsLifecycle(text: "first")
    expectEqual(settings.accepted(sentAt: second(1)), "first")
    expectNil(settings.accepted(sentAt: second(11)))
    settings.activated(text: "second", at: second(20))
    // A response to an earlier request proves nothing about the new settings.
    expectNil(settings.accepted(sentAt: second(19)))
    expectEqual(settings.accepted(sentAt: second(30)), "second")
    expectNil(settings.accepted(sentAt: second(40)))
  }

  @Test("settings that may not be stored never become the last working settings")
  func notStored() {
    var settings = SettingsLifecycle(text: nil)
    expectNil(settings.accepted(sentAt: second(1)))
    settings.activated(text: "first", at: second(20))
    settings.activated(text: nil, at: second(30))
    expectNil(settings.accepted(sentAt: second(40)))
  }
}
