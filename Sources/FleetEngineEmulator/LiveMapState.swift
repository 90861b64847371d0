// SPDX-License-Identifier: Apache-2.0

/// The state of the live map: events in, messages for the pages out.
package struct LiveMapState: Sendable {
  /// One event of the stream: its name and its data.
  package struct Message: Equatable, Sendable {
    package var name: String
    /// The event's `data`.
    package var data: JSON
  }

  /// Maximum lines of the log.
  private static let maxLines = 50
  /// Maximum entries of the event list of all vehicles.
  private static let maxStoryEntries = 500
  /// Maximum number of vehicles; when it is exceeded, the one that has been silent longest is removed.
  private static let maxVehicles = 5000
  /// Maximum positions of all tracks together, and of the initial state of a page.
  private static let maxPositions = 1_000_000
  private static let maxOpeningPositions = 20_000

  private var vehicles: [String: MappedVehicle] = [:]
  private var log: [JSON] = []
  /// The messages for the page's list "What happens", oldest first: updates only if they ended a failure, had past
  /// positions or changed the state.
  private var story: [JSON] = []
  private var faults: [Fault] = []

  package init() {}

  /// - Returns: the messages for every page.
  package mutating func handle(_ event: FleetEvent) -> [Message] {
    var messages: [Message] = []
    if case .faults(let faults) = event.kind {
      self.faults = faults
      messages.append(Message(name: "faults", data: ["faults": Self.json(faults, at: event.at)]))
    } else if let message = vehicleMessage(event) {
      messages.append(message)
    }
    if !event.text.isEmpty {
      let line: JSON = [
        "at": JSON(event.at.wall), "vehicle": .string(event.vehicle), "kind": .string(event.kind.name),
        "text": .string(event.text),
      ]
      log.append(line)
      if log.count > Self.maxLines { log.removeFirst() }
      if event.kind.isInStory { remember(line, as: "log") }
      messages.append(Message(name: "log", data: line))
    }
    return messages
  }

  /// The initial state of a page.
  package func openingMessage(at now: ServerTime) -> Message {
    let trackLimit = max(Self.maxOpeningPositions / max(1, vehicles.count), 10)
    let totals = vehicles.values.map(\.statistics)
    return Message(
      name: "state",
      data: [
        "now": JSON(now.wall),
        "vehicles": .object(
          vehicles.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json(track: trackLimit, at: now)) }),
        "faults": Self.json(faults, at: now),
        "stats": [
          "accepted": JSON(totals.reduce(0) { $0 + $1.acceptedCount }),
          "refused": JSON(totals.reduce(0) { $0 + $1.refusedCount }),
          "warnings": JSON(totals.reduce(0) { $0 + $1.warningCount }),
          "tokens": JSON(totals.reduce(0) { $0 + $1.issuedTokenCount }),
        ],
        "log": .array(log), "story": .array(story),
      ])
  }

  /// - Parameter now: for the ends of the faults, which are sent as wall time.
  package static func json(_ faults: [Fault], at now: ServerTime) -> JSON {
    .array(
      faults.map { fault in
        [
          "id": JSON(fault.id), "name": .string(fault.commandName), "target": .string(fault.target.rawValue),
          "vehicle": .string(fault.vehicle ?? ""), "effect": .string(fault.summary),
          "ends": fault.end.map { JSON(now.wall + $0 - now.steady) } ?? .null,
          "times": fault.times.map { JSON($0) } ?? .null,
        ]
      })
  }

  private mutating func vehicleMessage(_ event: FleetEvent) -> Message? {
    switch event.kind {
    case .faults, .fault, .info: return nil
    default: break
    }
    guard ResourceName.isValid(VehicleService.identifier(ofKey: event.vehicle)) else { return nil }
    makeRoom(for: event.vehicle)
    // The vehicle is removed from the dictionary while it is changed, so that its track is not copied.
    var vehicle = vehicles.removeValue(forKey: event.vehicle) ?? MappedVehicle(event.vehicle)
    defer { vehicles[event.vehicle] = vehicle }
    let previousState = vehicle.statistics.state
    vehicle.statistics = event.statistics
    vehicle.lastHeard = event.at.steady
    var message = Message(name: "", data: ["vehicle": .string(event.vehicle)])
    switch event.kind {
    case .accepted(let position, let past):
      let hadFailed = vehicle.hasFailed
      let (live, added) = vehicle.recordAccepted(
        position, past: past, keeping: Self.maxPositions / (vehicles.count + 1), at: event.at)
      message.name = "update"
      message.data["position"] = live?.json ?? .null
      message.data["past"] = .array(added.map(\.json))
      rememberUpdate(
        of: event.vehicle, filled: added.count, endsFailure: hadFailed,
        newState: event.statistics.state == previousState ? nil : event.statistics.state, at: event.at)
    case .refused(let refusal):
      vehicle.recordRefused(refusal, at: event.at)
      message.name = "refused"
      message.data["at"] = JSON(event.at.wall)
      message.data.add(refusal)
      remember(message.data, as: message.name)
    case .token(let issued, let expires):
      (vehicle.tokenIssued, vehicle.tokenExpires) = (issued, expires)
      message.name = "token"
      message.data["at"] = JSON(event.at.wall)
      message.data["expires"] = JSON(expires)
      remember(message.data, as: message.name)
    case .tokenRefused(let refusal):
      message.name = "token"
      message.data["at"] = JSON(event.at.wall)
      message.data["expires"] = .null
      message.data.add(refusal)
      remember(message.data, as: message.name)
    case .faults, .fault, .info: return nil
    }
    message.data["stats"] = vehicle.stats(at: event.at)
    return message
  }

  private mutating func rememberUpdate(
    of vehicle: String, filled: Int, endsFailure: Bool, newState: String?, at now: ServerTime
  ) {
    guard filled > 0 || endsFailure || newState != nil else { return }
    var entry: JSON = ["vehicle": .string(vehicle), "at": JSON(now.wall), "filled": JSON(filled)]
    if let newState { entry["state"] = .string(newState) }
    remember(entry, as: "update")
  }

  /// - Parameter name: of the message with this data.
  private mutating func remember(_ data: JSON, as name: String) {
    var entry = data
    entry["name"] = .string(name)
    story.append(entry)
    if story.count > Self.maxStoryEntries { story.removeFirst() }
  }

  private mutating func makeRoom(for vehicle: String) {
    guard vehicles[vehicle] == nil, vehicles.count >= Self.maxVehicles,
      let silent = vehicles.min(by: { $0.value.lastHeard < $1.value.lastHeard })
    else { return }
    vehicles[silent.key] = nil
  }
}

extension FleetEvent.Kind {
  /// Whether its line is part of the story; updates, rejections and tokens have messages of their own.
  fileprivate var isInStory: Bool {
    switch self {
    case .faults, .fault, .info: true
    case .accepted, .refused, .token, .tokenRefused: false
    }
  }

  fileprivate var name: String {
    switch self {
    case .accepted: "accepted"
    case .refused: "refused"
    case .token, .tokenRefused: "token"
    case .faults, .fault: "fault"
    case .info: "info"
    }
  }
}

extension JSON {
  fileprivate mutating func add(_ refusal: FleetEvent.Refusal) {
    self["status"] = JSON(refusal.status)
    self["reason"] = .string(refusal.reason)
    self["message"] = .string(refusal.message)
  }
}
