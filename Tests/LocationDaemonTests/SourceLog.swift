// SPDX-License-Identifier: Apache-2.0
import FixSources
import Positioning
import Testing

@testable import LocationDaemon

/// The reports of a live source.
final class SourceLog {
  private(set) var fixes: [Fix] = []
  private(set) var reading: [String] = []
  private(set) var lost: [String] = []
  /// The number of all reports.
  private(set) var count = 0

  func append(_ report: SourceReport) {
    count += 1
    switch report {
    case .fix(let fix): fixes.append(fix)
    case .reading(let name): reading.append(name)
    case .sky, .detecting: break
    case .lost(let why): lost.append(why)
    case .ended: Issue.record("a source of live positions ended")
    }
  }
}
