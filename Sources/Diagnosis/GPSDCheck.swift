// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Configuration
import EventLoop
import LocationDaemon
import FixSources
import StreamSocket
import Timekeeping
import SystemCalls

/// Connects to gpsd, and reads its reports until one has a position.
struct GPSDCheck: Check {
  /// gpsd opens its receiver, and detects its baud rate, only when the first client connects.
  private static let reportTimeout = Duration.seconds(12)
  private static let connectTimeout = Duration.seconds(10)

  let name: String
  let settings: GPSDSettings
  let environment: Doctor.Environment

  var subject: Doctor.Subject { .source }
  var title: String { "\(name): gpsd at \(settings.address.host):\(settings.address.port)" }

  func run(_ report: (Finding) -> Void) {
    let loop = environment.loop
    let lookup = HostLookup(loop: loop, host: settings.address.host, port: settings.address.port)
    var probe = GPSDProbe(address: lookup.name, device: settings.device)
    var isConnected = false
    var failure: StreamSocketError?
    let socket = StreamSocket(
      loop: loop, lookup: lookup, deadline: GPSDCheck.connectTimeout, onConnected: { isConnected = true },
      onBytes: { probe.receive($0, at: loop.now) }, onEnd: { failure = $0 })
    defer { socket.close() }
    do {
      try loop.run(until: loop.now.boot + GPSDCheck.connectTimeout + .seconds(1)) { isConnected || failure != nil }
      guard isConnected else {
        let error = failure ?? StreamSocketError(.timeout, "\(lookup.name): no response")
        return report(.fail(.unreachable, error.message, ConnectionAdvice.gpsd(error).sentenceCase))
      }
      report(.pass("\(lookup.name) accepts connections"))
      socket.send(GPSDSession.watchCommand(for: settings.device))
      try loop.run(until: loop.now.boot + GPSDCheck.reportTimeout) { probe.isDone || failure != nil }
    } catch {
      return report(.fail(.checkFailed, "\(error)", "Close other programs, and try again"))
    }
    for finding in probe.findings(timeLimit: GPSDCheck.reportTimeout, buildDate: environment.buildDate) {
      report(finding)
    }
  }
}
