// SPDX-License-Identifier: Apache-2.0

/// What carries requests to a party.
package enum HTTPTransport: String, Sendable, CaseIterable {
  /// HTTP/2 where the server has it, else HTTP/1.1.
  case auto
  /// HTTP/1.1 whatever the server has.
  case http1
}

/// How a client reaches one party. Two parties that need different certificates get two clients.
package struct HTTPClientConfiguration: Equatable, Sendable {
  /// As in `fleet-locationd/0.1.0`.
  package var userAgent: String
  /// What carries the requests.
  package var transport: HTTPTransport
  /// PEM file of the only issuers to trust; nil trusts those of the system.
  package var caFile: String?
  /// URL of an HTTP proxy, as in `http://proxy.example.com:3128`; nil goes direct, whatever the environment says.
  package var proxy: String?
  /// PEM file of the certificate to show to the server, with `clientKey`, the PEM file of its key.
  package var clientCertificate: String?
  /// PEM file of the private key of `clientCertificate`; nil when there is no certificate.
  package var clientKey: String?
  /// Lets `http://` through. Whether the address is a loopback address is for the caller to know.
  package var allowsPlainHTTP = false
  /// For name, TCP and TLS together; the request's own deadline when that is shorter.
  package var connectTimeout: Duration = .seconds(10)
  /// Silence after which TCP asks whether the other end is there. Carriers forget idle mappings after a minute and
  /// more; whole seconds, 1 or more.
  package var keepAliveIdle: Duration = .seconds(45)
  /// A connection that nothing has used for this long is not used again: heartbeats come at least once a minute, and one
  /// that is older has seen an outage or a change. Whole seconds, 1 or more.
  package var idleLife: Duration = .seconds(100)
  /// How long sent bytes may stay unacknowledged before the kernel gives the connection up: a carrier that has forgotten
  /// the connection drops them without a word. Shorter than a request's usual deadline, so that the next try is through a
  /// fresh connection sooner; longer than the stalls of a cell change.
  package var unacknowledgedTimeout: Duration = .seconds(10)

  package init(userAgent: String = "fleet-locationd", transport: HTTPTransport = .auto) {
    self.userAgent = userAgent
    self.transport = transport
  }
}
