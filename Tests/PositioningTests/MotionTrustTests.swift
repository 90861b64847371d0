// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Positioning

struct MotionTrustTests {
  /// The number of consistent fixes until the speed is trusted again.
  private func probation(_ trust: inout MotionTrust) -> Int {
    var count = 0
    while !trust.isTrusted {
      trust.note(isExplained: true, isMoving: false)
      count += 1
    }
    return count
  }

  @Test("a speed is trusted until positions contradict it, and again after a number of fixes that doubles each time")
  func doubles() {
    var trust = MotionTrust()
    expect(trust.isTrusted)
    trust.note(isExplained: true, isMoving: false)
    expect(trust.isTrusted)
    var probations = [Int]()
    for _ in 0..<9 {
      trust.note(isExplained: false, isMoving: false)
      expect(!trust.isTrusted)
      probations.append(probation(&trust))
    }
    expectEqual(probations, [64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096])
  }

  @Test("an inconsistent fix during the probation restarts the probation, and does not double it")
  func beginsAnew() {
    var trust = MotionTrust()
    trust.note(isExplained: false, isMoving: false)
    for _ in 0..<63 { trust.note(isExplained: true, isMoving: false) }
    expect(!trust.isTrusted)
    trust.note(isExplained: false, isMoving: false)
    expectEqual(probation(&trust), 64)
  }

  @Test("half an hour of consistent driving halves the number of fixes; a vehicle that stands proves nothing")
  func recovers() {
    var trust = MotionTrust()
    for _ in 0..<7 {
      trust.note(isExplained: false, isMoving: true)
      _ = probation(&trust)
    }
    for _ in 0..<100_000 { trust.note(isExplained: true, isMoving: false) }
    trust.note(isExplained: false, isMoving: true)
    expectEqual(probation(&trust), 4096)
    for _ in 0..<6 * 1800 { trust.note(isExplained: true, isMoving: true) }
    trust.note(isExplained: false, isMoving: true)
    expectEqual(probation(&trust), 128)
  }
}
