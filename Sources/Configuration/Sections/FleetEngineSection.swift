// SPDX-License-Identifier: Apache-2.0
import Delivery
import Vehicle
import FleetEngine
import HTTPMessages

extension Settings {
  static let fleetEngineKeys: [Setting<Settings>] = [
    Setting("endpoint", \.fleetEngine.endpoint, .endpoint, "Address of Fleet Engine, or of an emulator."),
    Setting(
      "position_field", \.agent.delivery.endpoint.positionField, .choice, isDestinationNeutral: true,
      "The fields of the request that contain the position. `supplemental`: `supplementalLocation` and the fields that belong to it, which Google specifies for senders other than its SDK. `location`: the field `location`."
    ),
    Setting(
      "deadline", \.agent.delivery.endpoint.deadline, .duration(.seconds(1)...(.seconds(60))),
      isDestinationNeutral: true,
      "Request timeout. Opening a connection (name lookup, TCP and TLS) may take at most 10 s of it."),
    Setting(
      "ca_file", \.fleetEngine.client.caFile, .certificateFile,
      "PEM file of the certificate authorities to trust. Default: those of the system."),
    Setting(
      "transport", \.fleetEngine.client.transport, .choice, isDestinationNeutral: true,
      "`auto`: HTTP/2 if the server supports it, which needs a third of the bytes, otherwise HTTP/1.1. `http1`: always HTTP/1.1."
    ),
    Setting(
      "proxy", \.fleetEngine.client.proxy, .proxy,
      "Proxy for the connection, as in `\"http://proxy.example.com:3128\"`; without a port, 1080, or 443 with https. Default: no proxy; environment variables such as `https_proxy` are ignored."
    ),
  ]
}

extension Settings.FleetEngine {
  /// Whether the endpoint is a loopback address: no position leaves this machine.
  package var isLoopback: Bool {
    (try? WebAddress.parse(endpoint, schemes: ["https", "http"]).isLoopback) ?? false
  }

  /// A host to connect to, and its port.
  package struct Hop: Equatable, Sendable {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// 1 to 65535.
    package var port: Int
  }

  /// Where the daemon connects to: the proxy if there is one, otherwise the endpoint. Nil if its address is not valid,
  /// which cannot be the case after the settings were read from a file.
  package var firstHop: Hop? {
    guard let proxy = client.proxy else {
      return (try? WebAddress.parse(endpoint, schemes: ["https", "http"])).map {
        Hop(host: $0.host, port: $0.port ?? ($0.scheme == "https" ? 443 : 80))
      }
    }
    // libcurl's default port of proxies: 443 for https, 1080 for all others.
    return (try? WebAddress.parse(proxy, schemes: ["http", "https", "socks5", "socks5h"])).map {
      Hop(host: $0.host, port: $0.port ?? ($0.scheme == "https" ? 443 : 1080))
    }
  }
}
