// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Holds this machine's wall clock against the times that others tell, and says when it is wrong and by how much.
///
/// What others told is carried on by elapsed time, so that a step of the clock is seen at once, and a sleep changes nothing.
package struct WallClockJudge: Sendable {
  /// Who tells the time, the least trusted first: a receiver can be deceived from outside, a server is known by its
  /// certificate, and Fleet Engine's own clock is the one that tokens are judged by.
  package enum Reference: Int, Comparable, Sendable, CaseIterable {
    case gnss
    case tokenProvider
    case fleetEngine

    /// Whether `left` is trusted less.
    package static func < (left: Reference, right: Reference) -> Bool { left.rawValue < right.rawValue }
  }

  /// By how much the wall clock is wrong, and by whose word.
  package struct Error: Equatable, Sendable {
    /// More than zero when the machine's clock is ahead.
    package var offset: Duration
    /// Whose time it was compared with.
    package var reference: Reference

    /// - Parameter offset: more than zero when the machine's clock is ahead.
    package init(offset: Duration, reference: Reference) {
      self.offset = offset
      self.reference = reference
    }
  }

  /// What is new about the wall clock.
  package enum Verdict: Equatable, Sendable {
    /// It is wrong, or wrong by another amount.
    case wrong(Error)
    /// It was wrong, and is no more.
    case right
  }

  /// A `Date` is told in whole seconds and takes its time to arrive; less than this is no news.
  package static let tolerance = Duration.seconds(30)
  /// What was told longer ago is not believed.
  private static let longestMemory = Duration.seconds(86_400)

  private var told: [Reference: (time: Timestamp, at: BootInstant)] = [:]
  /// What was last said to be wrong.
  private var reported: Error?

  /// Nobody has told the time yet.
  package init() {}

  /// Somebody told the time.
  package mutating func observe(_ reference: Reference, _ time: Timestamp, at now: BootInstant) {
    told[reference] = (time, now)
  }

  /// What time it is by the best of those who told it; nil when nobody did.
  package func time(at now: BootInstant) -> (Timestamp, Reference)? {
    for reference in Reference.allCases.reversed() {
      guard let (time, at) = told[reference], now - at <= WallClockJudge.longestMemory else { continue }
      return (time + (now - at), reference)
    }
    return nil
  }

  /// By how much the clock is wrong; nil when it is not, or nobody can say.
  package func error(at now: Moment) -> Error? {
    guard let (time, reference) = time(at: now.boot) else { return nil }
    let offset = now.wall - time
    let isWrong = offset >= WallClockJudge.tolerance || offset <= .zero - WallClockJudge.tolerance
    return isWrong ? Error(offset: offset, reference: reference) : nil
  }

  /// What is new: the clock turned out to be wrong, or by another size, or is right again.
  package mutating func verdict(at now: Moment) -> Verdict? {
    guard let error = error(at: now) else {
      guard reported != nil, time(at: now.boot) != nil else { return nil }
      reported = nil
      return .right
    }
    if let reported {
      let change = error.offset - reported.offset
      let size = max(error.offset, .zero - error.offset)
      guard max(change, .zero - change) > max(.seconds(60), size / 10) else { return nil }
    }
    reported = error
    return .wrong(error)
  }
}
