// SPDX-License-Identifier: Apache-2.0
import Delivery
import FleetEngine
import HTTPMessages

extension Settings {
  static let fleetEngineKeys: [Setting<Settings>] = [
    Setting("endpoint", \.fleetEngine.endpoint, .endpoint, "Fleet Engine."),
    Setting(
      "position_field", \.agent.delivery.endpoint.positionField, .choice,
      "The fields that carry the position: `supplementalLocation` and its company, as Google asks of senders that are not its SDK, or `location`."
    ),
    Setting(
      "deadline", \.agent.delivery.endpoint.deadline, .duration(.seconds(1)...(.seconds(60))),
      "A request that takes longer is given up."),
    Setting(
      "ca_file", \.fleetEngine.client.caFile, .pemFile,
      "PEM file of the authorities to trust, instead of the system's."),
    Setting(
      "transport", \.fleetEngine.client.transport, .choice,
      "`auto`: HTTP/2, which sends a third of the bytes, where the server has it, else HTTP/1.1. `http1`: HTTP/1.1 always."
    ),
    Setting(
      "proxy", \.fleetEngine.client.proxy, .proxy,
      "A proxy to go through. Without it none is used, whatever the environment says."),
  ]
}

extension Settings.FleetEngine {
  /// Whether positions stay on this machine.
  package var isLoopback: Bool {
    (try? WebAddress.parse(endpoint, schemes: ["https", "http"]).isLoopback) ?? false
  }

  /// A host to connect to, an IPv6 address without brackets, and its port.
  package struct Hop: Equatable, Sendable {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// 1 to 65535.
    package var port: Int
  }

  /// The first party on the way: the proxy if there is one, else the endpoint. Nil for settings that no file makes.
  package var firstHop: Hop? {
    guard let proxy = client.proxy else {
      return (try? WebAddress.parse(endpoint, schemes: ["https", "http"])).map {
        Hop(host: $0.host, port: $0.port ?? ($0.scheme == "https" ? 443 : 80))
      }
    }
    // libcurl's port for every kind of proxy.
    return (try? WebAddress.parse(proxy, schemes: ["http", "https", "socks5", "socks5h"])).map {
      Hop(host: $0.host, port: $0.port ?? ($0.scheme == "https" ? 443 : 1080))
    }
  }
}
