// SPDX-License-Identifier: Apache-2.0
package import StreamSocket
import SystemCalls

/// What to do if a source's connection cannot be opened. Like all advice, it has no capital letter at the beginning and
/// no full stop.
package nonisolated enum ConnectionAdvice {
  /// If gpsd cannot be reached.
  package static func gpsd(_ error: StreamSocketError) -> String {
    advice(
      error, setting: "source.address",
      ifRefused:
        "check that gpsd runs there: systemctl status gpsd.socket gpsd; a gpsd on another "
        + "machine must be started with -G")
  }

  /// If a sender of NMEA 0183 cannot be reached.
  package static func sender(_ error: StreamSocketError) -> String {
    advice(
      error, setting: "source.address",
      ifRefused: "nothing listens there: check source.address and the sender's settings")
  }

  /// If this machine cannot listen for senders.
  package static func listener(_ error: StreamSocketError) -> String {
    advice(error, setting: "source.listen", ifRefused: "check source.listen")
  }

  private static func advice(_ error: StreamSocketError, setting: String, ifRefused: String) -> String {
    switch error.code {
    case .refused: ifRefused
    case .unknownHost: "check \(setting) and the name servers"
    case .inUse: "another program, source or instance of this service listens there: ss -lnp shows which"
    case .unreachable, .timeout: "check \(setting), the interfaces, the network and the firewall"
    default: "check \(setting)"
    }
  }
}
