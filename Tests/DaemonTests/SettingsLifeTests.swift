// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Daemon

@Suite struct SettingsLifeTests {
  private func second(_ seconds: Int) -> BootInstant { .boot + .seconds(seconds) }

  @Test("settings count as working after the first update that was sent with them, once")
  func proven() {
    var settings = SettingsLife(text: "first")
    expectEqual(settings.accepted(sentAt: second(1)), "first")
    expectNil(settings.accepted(sentAt: second(11)))
    settings.began(text: "second", at: second(20))
    // A response to an earlier request proves nothing about the new settings.
    expectNil(settings.accepted(sentAt: second(19)))
    expectEqual(settings.accepted(sentAt: second(30)), "second")
    expectNil(settings.accepted(sentAt: second(40)))
  }

  @Test("settings that may not be stored are never used as the last ones that worked")
  func kept() {
    var settings = SettingsLife(text: nil)
    expectNil(settings.accepted(sentAt: second(1)))
    settings.began(text: "first", at: second(20))
    settings.began(text: nil, at: second(30))
    expectNil(settings.accepted(sentAt: second(40)))
  }
}
