// SPDX-License-Identifier: Apache-2.0

/// Everything that one port of the emulator serves: Fleet Engine, tokens, the debug interface of tests, and the live
/// map.
package final class Emulator {
  /// The state of the emulated Fleet Engine and token provider, with its counters.
  package let service: FleetService
  private let map: LiveMap

  /// - Parameters:
  ///   - account: a service account whose tokens are accepted too.
  ///   - log: receives each line for the terminal.
  ///   - record: receives each update request.
  package init(
    _ options: FleetService.Options, map: LiveMap, key: SigningKey, account: ServiceAccount? = nil,
    log: @escaping (String) -> Void, record: ((JSON) -> Void)? = nil
  ) {
    self.map = map
    service = FleetService(
      options: options, key: key, account: account, log: log, observe: map.handle(_:), record: record)
  }

  /// Answers a request.
  package func handle(_ request: Request, at now: ServerTime) -> Reply {
    // Fleet Engine and the token provider may be requested under any host name, but not by pages of other sites; the
    // map and the debug interface may not, but a link may lead to the map.
    let isForBrowsers = LiveMap.serves(request) || (try? request.segments().first) == "debug"
    do throws(APIError) {
      try isForBrowsers ? BrowserGuard.check(request) : BrowserGuard.checkSite(request)
    } catch {
      return Reply(error)
    }
    if LiveMap.serves(request) { return map.handle(request, on: service, at: now) }
    var reply = service.handle(request, at: now)
    // A proxy would answer a reset with 502: a server's failure, not one of the network.
    if reply.silence == .reset, request.header("via") != nil { reply.silence = .drop }
    return reply
  }

  /// Ends the faults whose duration has elapsed, and collects the events that are due.
  ///
  /// - Parameter isWatched: whether a page of the live map is open.
  package func performPendingWork(at now: ServerTime, isWatched: Bool) -> HTTPServer.PendingWork {
    var work = HTTPServer.PendingWork()
    let end = service.endFaults(at: now)
    work.events = map.dueEvents(isWatched: isWatched, at: now)
    work.deadline = [end, map.deadline].compactMap { $0 }.min()
    return work
  }
}
