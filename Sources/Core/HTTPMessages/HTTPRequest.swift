// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// A complete HTTP request: decided in the core, sent by a transport.
package struct HTTPRequest: Equatable, Sendable {
  /// The methods that this program uses.
  package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
  }

  /// How the body is encoded (RFC 9110, section 8.4).
  package enum ContentCoding: Sendable {
    /// Not compressed.
    case identity
    /// Compressed (RFC 1952).
    case gzip
  }

  /// The value of a header.
  package enum HeaderValue: Equatable, Sendable {
    case plain(String)
    /// Sent as `prefix` followed by the secret, as in `Bearer ` and a token.
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

  /// The HTTP method.
  package var method: Method
  /// Absolute, percent-encoded, `https` (or `http` to a loopback address).
  package var url: String
  /// In the order in which they are sent, without derived ones such as Content-Length.
  package var headers: [Header]
  /// Empty if there is none.
  package var body: [UInt8]
  /// How the transport has to encode the body before it sends the request.
  package var contentCoding = ContentCoding.identity
  /// The timeout from sending to the last byte of the response, including connecting.
  package var deadline: Duration
  /// The maximum size of the response in bytes; a larger one fails with `TransportFailure.Kind.tooLarge`.
  package var maximumResponseSize: Int
  /// The time at which to verify the certificates of a new connection; nil for the machine's clock.
  package var certificateTime: Timestamp?
  /// Whether the request is sent on a connection that has carried no other request. If no new connection can be opened,
  /// the request is sent on the current one, or fails in the last second before its deadline; the current one remains
  /// in use.
  package var usesNewConnection = false

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

  /// The request as it is sent: with the encoded body, and the header that names its coding.
  ///
  /// - Parameter compress: returns the body in the format gzip; nil if that is not possible: then the body is sent as
  ///   it is.
  package func encoded(by compress: ([UInt8]) -> [UInt8]?) -> HTTPRequest {
    guard contentCoding == .gzip else { return self }
    var request = self
    request.contentCoding = .identity
    guard let compressed = compress(body) else { return request }
    request.body = compressed
    request.headers.append(Header("Content-Encoding", .plain("gzip")))
    return request
  }
}
