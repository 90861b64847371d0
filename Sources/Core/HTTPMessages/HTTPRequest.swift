// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// One HTTP request, whole: what the core decides and a transport carries.
package struct HTTPRequest: Equatable, Sendable {
  /// The verbs that this program uses.
  package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
  }

  /// What a header may hold.
  package enum HeaderValue: Equatable, Sendable {
    case plain(String)
    /// Sent as `prefix` and then the secret, as in `Bearer ` and a token.
    case secret(prefix: String, Secret)
  }

  /// One header line of a request.
  package struct Header: Equatable, Sendable {
    package var name: String
    /// Its value; a secret is sent and never printed.
    package var value: HeaderValue

    package init(_ name: String, _ value: HeaderValue) {
      self.name = name
      self.value = value
    }
  }

  /// What is asked of the resource.
  package var method: Method
  /// Absolute, percent-encoded, `https` (or `http` to a loopback address).
  package var url: String
  /// In the order in which they are sent, without those that follow from the rest, as Content-Length.
  package var headers: [Header]
  /// Empty when there is none.
  package var body: [UInt8]
  /// The time from sending to the last byte of the answer, connecting included.
  package var deadline: Duration
  /// A longer answer is refused as `TransportFailure.Kind.tooLarge`. Bytes.
  package var maximumResponseSize: Int
  /// The time at which the certificates of a new connection are judged, in place of the machine's clock; nil: by the clock.
  package var certificateTime: Timestamp?

  package init(
    method: Method, url: String, headers: [Header] = [], body: [UInt8] = [], deadline: Duration = .seconds(15),
    maximumResponseSize: Int = 65_536
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.deadline = deadline
    self.maximumResponseSize = maximumResponseSize
  }
}
