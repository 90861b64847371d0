// SPDX-License-Identifier: Apache-2.0

/// The live map's page, and the events that keep it up to date.
package final class LiveMap {
  /// What the command line decides about the page.
  package struct Options: Sendable {
    /// Semantic version of the program.
    package var version = ""
    /// Nil means a plain ground.
    package var tiles: TileSource?
    /// Where the vehicles are expected to drive; empty shows no route.
    package var route: [RoutePoint] = []
    /// Bytes a second to a page at most.
    package var pageRate = PageFeed.defaultRate

    package init() {}
  }

  /// A point of the route that the map shows under the tracks.
  package struct RoutePoint: Equatable, Sendable {
    /// Degrees, WGS 84.
    package var latitude: Double
    /// Degrees, WGS 84.
    package var longitude: Double
    /// Whether the way from here to the next point has no view of the sky.
    package var isTunnel: Bool

    package init(latitude: Double, longitude: Double, isTunnel: Bool) {
      (self.latitude, self.longitude, self.isTunnel) = (latitude, longitude, isTunnel)
    }

    /// `[latitude, longitude]`, and `true` as the third of a tunnel.
    var json: JSON { .array([JSON(latitude), JSON(longitude)] + (isTunnel ? [true] : [])) }
  }

  /// Bytes.
  private static let maximumAct = 10_000

  private let options: Options
  private let files: PageFiles
  private var state = LiveMapState()
  private var feed: PageFeed
  private var lastID = 0

  /// - Parameter files: what the page is made of.
  package init(options: Options, files: PageFiles) {
    self.options = options
    self.files = files
    feed = PageFeed(rate: options.pageRate)
  }

  /// Shows an event.
  package func listen(_ event: FleetEvent) {
    for message in state.handle(event) { feed.add(message, at: event.at) }
  }

  /// The events that are due for every stream.
  ///
  /// - Parameter isWatched: whether there is a stream at all; without one everything pending is dropped.
  package func dueEvents(isWatched: Bool, at now: ServerTime) -> [[UInt8]] {
    guard isWatched else {
      feed.drop()
      return []
    }
    var events: [[UInt8]] = []
    while let message = feed.next(at: now) {
      lastID += 1
      let event = Array(Self.text(message, id: lastID).utf8)
      feed.spend(event.count)
      events.append(event)
    }
    return events
  }

  /// Steady milliseconds when there are events again; nil when none are pending.
  package var deadline: Int64? { feed.deadline }

  /// Whether the request is for the map at all.
  static func serves(_ request: Request) -> Bool {
    request.path == "/" || request.path.hasPrefix("/map/")
  }

  /// - Parameter service: what the buttons act on.
  func handle(_ request: Request, acting service: FleetService, at now: ServerTime) -> Reply {
    var reply: Reply
    do throws(APIError) {
      reply = try answer(request, acting: service, at: now)
    } catch {
      reply = Reply(error)
    }
    reply.headers += securityHeaders
    reply.headers.append(("Date", RFC3339.httpDate(now.wall)))
    return reply
  }

  private func answer(_ request: Request, acting service: FleetService, at now: ServerTime) throws(APIError) -> Reply {
    if request.path == "/map/act" { return try act(request, on: service, at: now) }
    guard request.method == "GET" || request.method == "HEAD" else { throw FleetService.methodNotAllowed(request) }
    switch request.path {
    case "/": return try file("map.html")
    case "/map/config":
      return Reply(json: [
        "tiles": options.tiles?.json ?? .null, "leaflet": .bool(files.hasLeaflet), "version": .string(options.version),
        "route": .array(options.route.map(\.json)),
      ])
    case "/map/events":
      feed.pageBegins()
      let opening = "retry: 2000\n" + Self.text(state.state(at: now), id: lastID)
      return Reply(
        status: 200, headers: [("Content-Type", "text/event-stream; charset=utf-8")],
        content: .events(Array(opening.utf8)))
    default: return try file(String(request.path.dropFirst("/map/".count)))
    }
  }

  private func act(_ request: Request, on service: FleetService, at now: ServerTime) throws(APIError) -> Reply {
    guard request.method == "POST" else { throw FleetService.methodNotAllowed(request) }
    // A form of another site cannot send this type without asking first.
    let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
    guard type == "application/json" else {
      throw APIError(
        .invalidArgument, "The Content-Type must be application/json.", reason: "INVALID_CONTENT_TYPE", httpStatus: 415)
    }
    guard !request.isTooLarge, request.body.count <= Self.maximumAct else {
      throw APIError(.invalidArgument, "An act is shorter.", reason: "REQUEST_TOO_LARGE", httpStatus: 413)
    }
    try service.perform(try Act(try FleetService.parse(request)), at: now)
    return Reply(json: ["faults": LiveMapState.json(service.faults.faults, at: now)])
  }

  private func file(_ name: String) throws(APIError) -> Reply {
    guard let content = files.content(name) else {
      throw APIError(.notFound, "There is no file \(name) for the map.", reason: "NO_SUCH_PATH")
    }
    return Reply(status: 200, headers: [("Content-Type", PageFiles.type(name))], content: .bytes(content))
  }

  private var securityHeaders: [(name: String, value: String)] {
    let images = ["'self'", "data:"] + [options.tiles?.origin].compactMap { $0 }
    return [
      (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src \(images.joined(separator: " ")); connect-src 'self'; "
          + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      ),
      ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-cache"),
    ]
  }

  private static func text(_ message: LiveMapState.Message, id: Int) -> String {
    "id: \(id)\nevent: \(message.name)\ndata: \(message.data.text)\n\n"
  }
}
