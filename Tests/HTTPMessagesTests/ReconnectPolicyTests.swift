// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct ReconnectPolicyTests {
  private static let reset = HTTPOutcome.failure(
    TransportFailure(.unprocessed, "REFUSED_STREAM", isConnectionOpen: true))
  private static let closed = HTTPOutcome.failure(TransportFailure(.broken, "closed"))

  private static func status(_ code: Int) -> HTTPOutcome { .response(HTTPResponse(status: code)) }

  /// For each attempt, true if it uses a new connection. An attempt ends with its outcome before the next one begins.
  private static func attempts(_ outcomes: [HTTPOutcome], every seconds: Int = 10) -> [Bool] {
    var policy = ReconnectPolicy()
    return outcomes.enumerated().map { index, outcome in
      let isNew = policy.claimNewConnection(at: .boot + .seconds(index * seconds))
      policy.ended(outcome)
      if outcome == status(200) { policy.accepted() }
      return isNew
    }
  }

  @Test("after a request that fails on an open connection, only the next request uses a new one")
  func reset() {
    expectEqual(Self.attempts([Self.reset, Self.status(200), Self.status(200)]), [false, true, false])
  }

  @Test("after two 5xx in a row the next request uses a new connection; a single 5xx has no effect")
  func serverErrors() {
    for code in [500, 502, 503, 599] {
      let error = Self.status(code)
      expectEqual(Self.attempts([error, error, Self.status(200)]), [false, false, true])
      expectEqual(Self.attempts([error, Self.status(200), error, Self.status(200)]), [false, false, false, false])
      expectEqual(Self.attempts([error, Self.status(404), error, error, error]), [false, false, false, false, true])
    }
  }

  @Test(
    "after a rejection, a rate limit, a timeout or a closed connection, the policy does not require a new connection",
    arguments: [
      status(400), status(401), status(403), status(404), status(408), status(429), status(302), closed,
      .failure(TransportFailure(.timedOut, "no response")),
      .failure(TransportFailure(.throttled, "ENHANCE_YOUR_CALM", isConnectionOpen: true)),
    ])
  func never(outcome: HTTPOutcome) {
    expect(!Self.attempts([HTTPOutcome](repeating: outcome, count: 20)).contains(true))
    // Each of these outcomes also ends a series of 5xx: the connection works, or is replaced anyway.
    expectEqual(Self.attempts([Self.status(503), outcome, Self.status(503), Self.status(200)]).contains(true), false)
  }

  @Test("a server that fails on every connection gets two new connections, then one every five minutes")
  func limit() {
    let resets = Self.attempts([HTTPOutcome](repeating: Self.reset, count: 100))
    expectEqual(resets.indices.filter { resets[$0] }, [1, 2, 32, 62, 92])
    let errors = Self.attempts([HTTPOutcome](repeating: Self.status(503), count: 100))
    expectEqual(errors.indices.filter { errors[$0] }, [2, 4, 34, 64, 94])
  }

  @Test("an accepted request resets the limit; a rejected one does not")
  func acceptance() {
    let accepted = Self.attempts([Self.reset, Self.reset, Self.reset, Self.status(200), Self.reset, Self.status(200)])
    expectEqual(accepted, [false, true, true, false, false, true])
    let rejected = Self.attempts([Self.reset, Self.reset, Self.reset, Self.status(404), Self.reset, Self.status(404)])
    expectEqual(rejected, [false, true, true, false, false, false])
  }
}
