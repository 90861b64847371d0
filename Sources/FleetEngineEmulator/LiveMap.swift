// SPDX-License-Identifier: Apache-2.0

/// The live map's page, and the events that keep it up to date.
package final class LiveMap {
  /// The options of the command line.
  package struct Options: Sendable {
    /// Semantic version of the program.
    package var version = ""
    /// The background tiles; nil for a plain background.
    package var tiles: TileSource?
    /// The route to draw under the tracks; empty for none.
    package var route: [RoutePoint] = []
    /// Maximum bytes per second to each page.
    package var pageRate = PageFeed.defaultRate

    package init() {}
  }

  /// A point of the route that the map shows under the tracks.
  package struct RoutePoint: Equatable, Sendable {
    /// Degrees, WGS 84.
    package var latitude: Double
    /// Degrees, WGS 84.
    package var longitude: Double
    /// Whether the route from here to the next point has no view of the sky.
    package var isTunnel: Bool

    package init(latitude: Double, longitude: Double, isTunnel: Bool) {
      (self.latitude, self.longitude, self.isTunnel) = (latitude, longitude, isTunnel)
    }

    /// `[latitude, longitude]`, with `true` as the third element in a tunnel.
    var json: JSON { .array([JSON(latitude), JSON(longitude)] + (isTunnel ? [true] : [])) }
  }

  /// Maximum size of a command in bytes.
  private static let maximumCommandSize = 10_000

  private let options: Options
  private let files: PageFiles
  private var state = LiveMapState()
  private var feed: PageFeed
  private var lastID = 0

  /// - Parameter files: the files of the page.
  package init(options: Options, files: PageFiles) {
    self.options = options
    self.files = files
    feed = PageFeed(rate: options.pageRate)
  }

  /// Processes an event.
  package func handle(_ event: FleetEvent) {
    for message in state.handle(event) { feed.add(message, at: event.at) }
  }

  /// The events that are due for every stream.
  ///
  /// - Parameter isWatched: whether there is a stream; without one all pending events are dropped.
  package func dueEvents(isWatched: Bool, at now: ServerTime) -> [[UInt8]] {
    guard isWatched else {
      feed.dropPending()
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

  /// Steady milliseconds when the next event is due; nil if none is pending.
  package var deadline: Int64? { feed.deadline }

  /// Whether the request is for the map.
  static func serves(_ request: Request) -> Bool {
    request.path == "/" || request.path.hasPrefix("/map/")
  }

  /// - Parameter service: performs the commands of the buttons.
  func handle(_ request: Request, on service: FleetService, at now: ServerTime) -> Reply {
    var reply: Reply
    do throws(APIError) {
      reply = try answer(request, on: service, at: now)
    } catch {
      reply = Reply(error)
    }
    reply.headers += securityHeaders
    reply.headers.append(("Date", RFC3339.httpDate(now.wall)))
    return reply
  }

  private func answer(_ request: Request, on service: FleetService, at now: ServerTime) throws(APIError) -> Reply {
    if request.path == "/map/act" { return try performCommand(request, on: service, at: now) }
    guard request.method == "GET" || request.method == "HEAD" else { throw FleetService.methodNotAllowed(request) }
    switch request.path {
    case "/": return try file("map.html")
    case "/map/config":
      return Reply(json: [
        "tiles": options.tiles?.json ?? .null, "leaflet": .bool(files.hasLeaflet), "version": .string(options.version),
        "route": .array(options.route.map(\.json)),
      ])
    case "/map/events":
      feed.pageOpened()
      let opening = "retry: 2000\n" + Self.text(state.openingMessage(at: now), id: lastID)
      return Reply(
        status: 200, headers: [("Content-Type", "text/event-stream; charset=utf-8")],
        content: .events(Array(opening.utf8)))
    default: return try file(String(request.path.dropFirst("/map/".count)))
    }
  }

  private func performCommand(_ request: Request, on service: FleetService, at now: ServerTime) throws(APIError)
    -> Reply
  {
    guard request.method == "POST" else { throw FleetService.methodNotAllowed(request) }
    // A form of another site cannot send this type: browsers would first send a preflight request.
    let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
    guard type == "application/json" else {
      throw APIError(
        .invalidArgument, "The Content-Type must be application/json.", reason: "INVALID_CONTENT_TYPE", httpStatus: 415)
    }
    guard !request.isTooLarge, request.body.count <= Self.maximumCommandSize else {
      throw APIError(
        .invalidArgument, "A command has at most \(LiveMap.maximumCommandSize) bytes.", reason: "REQUEST_TOO_LARGE",
        httpStatus: 413)
    }
    try service.perform(try MapCommand(try FleetService.parse(request)), at: now)
    return Reply(json: ["faults": LiveMapState.json(service.faults.faults, at: now)])
  }

  private func file(_ name: String) throws(APIError) -> Reply {
    guard let content = files.content(name) else {
      throw APIError(.notFound, "There is no file \(name) for the map.", reason: "NO_SUCH_PATH")
    }
    return Reply(status: 200, headers: [("Content-Type", PageFiles.contentType(of: name))], content: .bytes(content))
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
