// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import HTTPClient
import HTTPMessages
import LoopTesting
import Testing

/// An HTTP client, and an event loop that the test runs.
struct ClientFixture {
  let loop: EventLoop
  let client: HTTPClient
  let meter = ConnectionMeter()

  init(_ adjust: (inout HTTPClientConfiguration) -> Void = { _ in }) throws {
    loop = try EventLoop()
    var configuration = HTTPClientConfiguration(userAgent: "fleet-locationd/test")
    configuration.allowsPlainHTTP = true
    adjust(&configuration)
    client = try HTTPClient(loop: loop, configuration: configuration, meter: meter)
  }

  /// Sends a request, and runs the loop until the request ends.
  func outcome(_ request: HTTPRequest) throws -> HTTPOutcome {
    var outcome: HTTPOutcome?
    client.send(request) { outcome = $0 }
    expectNil(outcome, "called before send returned")
    expect(try loop.runs { outcome != nil })
    return try #require(outcome)
  }

  func response(_ request: HTTPRequest) throws -> HTTPResponse {
    let outcome = try outcome(request)
    guard case .response(let response) = outcome else { throw Unexpected(outcome: outcome) }
    return response
  }

  func failure(_ request: HTTPRequest) throws -> TransportFailure {
    let outcome = try outcome(request)
    guard case .failure(let failure) = outcome else { throw Unexpected(outcome: outcome) }
    return failure
  }

  struct Unexpected: Error {
    let outcome: HTTPOutcome
  }
}
