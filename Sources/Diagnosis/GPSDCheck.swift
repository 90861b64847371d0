// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import Positioning
import StreamSocket
import Timekeeping
import SystemCalls

/// A gpsd: reached, asked, and listened to until it tells a position.
struct GPSDCheck: Check {
  /// gpsd opens its receiver when the first client comes, and looks for its speed then.
  private static let patience = Duration.seconds(12)
  private static let connectDeadline = Duration.seconds(10)

  let name: String
  let settings: GPSDSettings
  let surroundings: Doctor.Surroundings

  var title: String { "\(name): gpsd at \(settings.address.host):\(settings.address.port)" }

  func run(_ report: (Finding) -> Void) {
    let loop = surroundings.loop
    let lookup = HostLookup(loop: loop, host: settings.address.host, port: settings.address.port)
    var hearing = GPSDHearing(address: lookup.name, device: settings.device)
    var isConnected = false
    var failure: StreamSocketError?
    let socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: GPSDCheck.connectDeadline, onConnected: { isConnected = true },
      onBytes: { hearing.receive($0, at: loop.now) }, onEnd: { failure = $0 })
    defer { socket.close() }
    do {
      try loop.turn(until: loop.now.boot + GPSDCheck.connectDeadline + .seconds(1)) { isConnected || failure != nil }
      guard isConnected else { return report(GPSDCheck.unreachable(lookup.name, failure)) }
      report(.pass("\(lookup.name) takes the connection"))
      socket.send(GPSDSession.watchCommand(for: settings.device))
      try loop.turn(until: loop.now.boot + GPSDCheck.patience) { hearing.isDone || failure != nil }
    } catch {
      return report(.fail("\(error)", "Close other programs, and try again"))
    }
    for finding in hearing.findings(waited: GPSDCheck.patience, buildDate: surroundings.buildDate) { report(finding) }
  }

  private static func unreachable(_ name: String, _ error: StreamSocketError?) -> Finding {
    let advice =
      switch error?.code {
      case .refused:
        "gpsd does not run there, or listens elsewhere: systemctl status gpsd.socket gpsd; on another machine it must "
          + "be started with -G"
      case .unknownHost: "Check source.address and the name servers"
      default: "Check source.address, the network and the firewall between"
      }
    return .fail(error?.message ?? "\(name): no answer", advice)
  }
}
