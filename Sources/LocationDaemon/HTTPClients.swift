// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import HTTPClient
import HTTPMessages
import Release
import Observability
import Timekeeping
import SystemCalls

/// The HTTP clients for Fleet Engine and the token provider, each with its own certificates.
struct HTTPClients {
  let updates: ExchangeTable
  let tokens: ExchangeTable

  /// - Throws: exit code `configuration` if libcurl rejects a certificate file or proxy, `unavailable` if memory or
  ///   descriptors are missing.
  init(_ settings: Settings, loop: EventLoop, meters: ConnectionMeters = ConnectionMeters()) throws(DaemonError) {
    var (updates, tokens) = (settings.fleetEngine.client, settings.token.client)
    updates.userAgent = "fleet-locationd/\(Release.version)"
    tokens.userAgent = updates.userAgent
    do {
      self.updates = ExchangeTable(try HTTPClient(loop: loop, configuration: updates, meter: meters.updates), updates)
      self.tokens = ExchangeTable(try HTTPClient(loop: loop, configuration: tokens, meter: meters.tokens), tokens)
    } catch {
      throw DaemonError(
        error.code == .unavailable ? ExitCode.unavailable : ExitCode.configuration, error.message, cause: error)
    }
  }
}

extension MetricReading.Traffic {
  init(peer: String, _ counters: TrafficCounters, _ meter: ConnectionMeter) {
    self.init(
      peer: peer, connections: counters.connections, bytesSent: counters.bytesSent,
      bytesReceived: counters.bytesReceived, tcp: meter.traffic)
  }
}

/// The running requests of one client, by the core's request IDs.
final class ExchangeTable {
  private var client: HTTPClient
  private var configuration: HTTPClientConfiguration
  /// Hash values of the files that the client has read.
  private var files: [Int?]
  /// The sum of the counters of all replaced clients.
  private var earlierTraffic = TrafficCounters()
  /// The running requests. A replaced client is kept until its requests end.
  private var running: [UInt64: (client: HTTPClient, exchange: HTTPExchange)] = [:]

  init(_ client: HTTPClient, _ configuration: HTTPClientConfiguration) {
    self.client = client
    self.configuration = configuration
    files = [configuration.caFile, configuration.clientCertificate, configuration.clientKey].map { path in
      path.flatMap { try? SystemFile.content(of: $0, limit: 1_000_000).bytes.hashValue }
    }
  }

  /// Opens the connection for a request that will follow.
  func connect(to url: String, certificateTime: Timestamp?) {
    client.connect(to: url, certificateTime: certificateTime)
  }

  /// - Parameter completion: called once, in a later iteration of the loop, unless the request is cancelled. It must
  ///   call `requestEnded`.
  func start(_ id: UInt64, _ request: HTTPRequest, completion: @escaping (HTTPOutcome) -> Void) {
    running[id] = (client, client.send(request, completion: completion))
  }

  /// The request has ended.
  func requestEnded(_ id: UInt64) { running[id] = nil }

  /// Counters of all clients since the start.
  var traffic: TrafficCounters { earlierTraffic + client.counters }

  /// The protocol of the last response, `HTTP/2` or `HTTP/1.1`; nil before the first.
  var protocolVersion: String? { client.httpVersion }

  func cancel(_ id: UInt64) {
    running.removeValue(forKey: id)?.exchange.cancel()
  }

  /// Closes idle connections, so that the next request uses a new one.
  func dropConnections() {
    client.dropConnections()
  }

  /// Uses the other table's client for later requests. If the configuration and its files are the same, the client and
  /// its connection are kept.
  func replaceClient(with other: ExchangeTable) {
    guard other.configuration != configuration || other.files != files else { return }
    earlierTraffic = traffic
    client = other.client
    configuration = other.configuration
    files = other.files
  }
}
