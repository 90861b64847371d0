// SPDX-License-Identifier: Apache-2.0

/// The HTTP version.
package enum HTTPTransport: String, Sendable, CaseIterable {
  /// HTTP/2 if the server supports it, otherwise HTTP/1.1.
  case auto
  /// Always HTTP/1.1.
  case http1
}

/// The configuration of a client for one server. Servers that need different certificates need different clients.
package struct HTTPClientConfiguration: Equatable, Sendable {
  /// The `User-Agent`, as in `fleet-locationd/0.3.0`.
  package var userAgent: String
  /// The HTTP version.
  package var transport: HTTPTransport
  /// PEM file of the only trusted CAs; nil: those of the system.
  package var caFile: String?
  /// URL of an HTTP proxy, as in `http://proxy.example.com:3128`; nil for a direct connection, whatever the environment
  /// says.
  package var proxy: String?
  /// PEM file of the client certificate; needs `clientKey`.
  package var clientCertificate: String?
  /// PEM file of the private key of `clientCertificate`; nil when there is no certificate.
  package var clientKey: String?
  /// Allows `http://`. The caller must check that the address is a loopback address.
  package var allowsPlainHTTP = false
  /// The timeout for name resolution, TCP and TLS together; limited by the request's deadline.
  package var connectTimeout: Duration = .seconds(10)
  /// Idle time before TCP keep-alive probes, whole seconds, 1 or more; nil: no probes. Longer than the time between two
  /// heartbeats, so that a parked vehicle sends no probes: its next heartbeat detects a dead connection just as well.
  package var keepAliveIdle: Duration?
  /// Idle connections are not reused after this time: heartbeats come at least once a minute, so a connection that has
  /// been idle for longer has seen an outage, a pause or a change of the network. Whole seconds, 1 or more.
  package var idleTimeout: Duration = .seconds(100)
  /// How long sent data may remain unacknowledged before the kernel closes the connection (TCP_USER_TIMEOUT): a carrier
  /// that has dropped the NAT mapping drops packets silently. Shorter than a request's usual deadline, so that the
  /// retry uses a new connection sooner; longer than the stalls of a cell handover.
  package var unacknowledgedTimeout: Duration = .seconds(10)

  package init(
    userAgent: String = "fleet-locationd", transport: HTTPTransport = .auto, keepAliveIdle: Duration? = .seconds(65)
  ) {
    self.userAgent = userAgent
    self.transport = transport
    self.keepAliveIdle = keepAliveIdle
  }
}
