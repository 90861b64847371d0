// SPDX-License-Identifier: Apache-2.0

/// The live map's page and the stream of events that it lives on.
package final class LiveMap {
  package struct Options: Sendable {
    /// Semantic version of the program.
    package var version = ""

    package init() {}
  }

  private let options: Options
  private let files: PageFiles
  private var state = LiveMapState()
  private var outbox: [[UInt8]] = []
  private var lastID = 0

  package init(options: Options, files: PageFiles) {
    self.options = options
    self.files = files
  }

  /// Takes what happened.
  package func listen(_ event: FleetEvent) {
    for message in state.handle(event) {
      lastID += 1
      outbox.append(Self.serverSentEvent(message, id: lastID))
    }
  }

  /// The events for every stream since it was last asked.
  package func takeEvents() -> [[UInt8]] {
    defer { outbox = [] }
    return outbox
  }

  /// - Returns: nil when the request is for something else.
  package func handle(_ request: Request, at now: ServerTime) -> Reply? {
    guard request.path == "/" || request.path.hasPrefix("/map/") else { return nil }
    var reply: Reply
    do throws(APIError) {
      reply = try answer(request, at: now)
    } catch {
      reply = Reply(error)
    }
    reply.headers += securityHeaders
    reply.headers.append(("Date", RFC3339.httpDate(now.wall)))
    return reply
  }

  private func answer(_ request: Request, at now: ServerTime) throws(APIError) -> Reply {
    guard request.method == "GET" || request.method == "HEAD" else { throw FleetService.methodNotAllowed(request) }
    switch request.path {
    case "/": return try file("map.html")
    case "/map/config":
      return Reply(json: ["tiles": .null, "leaflet": .bool(files.hasLeaflet), "version": .string(options.version)])
    case "/map/events":
      let opening = "retry: 2000\n" + Self.text(state.state(at: now), id: lastID)
      return Reply(
        status: 200, headers: [("Content-Type", "text/event-stream; charset=utf-8")],
        content: .events(Array(opening.utf8)))
    default: return try file(String(request.path.dropFirst("/map/".count)))
    }
  }

  private func file(_ name: String) throws(APIError) -> Reply {
    guard let content = files.content(name) else {
      throw APIError(.notFound, "There is no file \(name) for the map.", reason: "NO_SUCH_PATH")
    }
    return Reply(status: 200, headers: [("Content-Type", PageFiles.type(name))], content: .bytes(content))
  }

  private var securityHeaders: [(name: String, value: String)] {
    [
      (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      ),
      ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-cache"),
    ]
  }

  private static func text(_ message: LiveMapState.Message, id: Int) -> String {
    "id: \(id)\nevent: \(message.name)\ndata: \(message.data.text)\n\n"
  }

  private static func serverSentEvent(_ message: LiveMapState.Message, id: Int) -> [UInt8] {
    Array(text(message, id: id).utf8)
  }
}
