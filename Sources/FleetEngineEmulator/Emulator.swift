// SPDX-License-Identifier: Apache-2.0

/// All that one port of the emulator serves: Fleet Engine, tokens, what tests ask for, and the live map.
package final class Emulator {
  /// Keeps the figures.
  package let service: FleetService
  private let map: LiveMap

  /// - Parameters:
  ///   - account: a service account whose tokens are accepted too.
  ///   - log: receives each readable line.
  ///   - record: receives each update request.
  package init(
    _ options: FleetService.Options, map: LiveMap, key: SigningKey, account: ServiceAccount? = nil,
    log: @escaping (String) -> Void, record: ((JSON) -> Void)? = nil
  ) {
    self.map = map
    service = FleetService(
      options: options, key: key, account: account, log: log, observe: map.listen, record: record)
  }

  /// Answers a request.
  package func handle(_ request: Request, at now: ServerTime) -> Reply {
    // Fleet Engine and the token provider have any name; what shows and does more has not.
    let isForBrowsers = LiveMap.serves(request) || request.path.hasPrefix("/debug/")
    do throws(APIError) {
      if isForBrowsers { try BrowserGuard.check(request) }
    } catch {
      return Reply(error)
    }
    return LiveMap.serves(request) ? map.handle(request, acting: service, at: now) : service.handle(request, at: now)
  }

  /// Ends the faults whose time is over.
  ///
  /// - Parameter isWatched: whether a page of the live map is open.
  package func attend(at now: ServerTime, isWatched: Bool) -> HTTPServer.Business {
    var business = HTTPServer.Business()
    let end = service.endFaults(at: now)
    business.events = map.dueEvents(isWatched: isWatched, at: now)
    business.deadline = [end, map.deadline].compactMap { $0 }.min()
    return business
  }
}
