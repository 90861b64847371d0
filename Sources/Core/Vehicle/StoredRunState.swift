// SPDX-License-Identifier: Apache-2.0
import Delivery
import ClockEstimation
import FleetEngine
import HTTPMessages
import Timekeeping

/// State that the next run in the same boot needs in order to respect the rate limits: the last requests, the last
/// accepted update, and the current time.
///
/// It is read from a file, so it is validated like any external input.
struct StoredRunState: Equatable, Sendable {
  private static let title = "fleet-locationd limits 1"

  /// The kernel's boot ID; the instants are only valid in this boot.
  var boot: String
  /// The vehicle of `floorStart`: service, provider and vehicle.
  var vehicle: String
  /// The last requests, oldest first.
  var attempts: [BootInstant]
  /// What the last request sets, if it had not ended, or what an earlier one sets that may still arrive.
  var inFlight: DeliveryAgent.RequestKind?
  /// The time until which requests of each kind may still arrive; nil in the file of an earlier release.
  var arrivals: [DeliveryAgent.RequestKind: BootInstant]?
  /// When the last update was accepted.
  var floorStart: BootInstant?
  /// Nil if the time is not confirmed.
  var bounds: TimeBounds?
  /// The timestamp of the newest delivered position; nil if unknown.
  var delivered: Timestamp?

  /// The file's content: lines of a key and numbers. Less than 2 kB for the longest vehicle ID.
  var text: String {
    func line(_ key: String, _ values: [Int64]) -> String {
      values.isEmpty ? "\(key)\n" : "\(key) \(values.map(String.init).joined(separator: " "))\n"
    }
    return "\(StoredRunState.title)\nboot \(boot)\nvehicle \(vehicle)\n"
      + line("attempts", attempts.map(\.nanoseconds)) + line("underway", [legacyInFlight])
      + line("accepted", floorStart.map { [$0.nanoseconds] } ?? []) + line("time", bounds?.values ?? [])
      + line("delivered", delivered.map { [$0.milliseconds] } ?? []) + "end\n"
      // Earlier versions ignore what follows.
      + (arrivals.map { arrivals in
        line("arrivals", DeliveryAgent.RequestKind.allCases.map { arrivals[$0]?.nanoseconds ?? 0 })
      } ?? "")
  }

  /// In the format of earlier versions, for which a position with OFFLINE is a position like any other.
  private var legacyInFlight: Int64 {
    (inFlight == .offlinePosition ? .position : inFlight)?.rawValue ?? 0
  }

  init(
    boot: String, vehicle: FleetEngineVehicle, attempts: [BootInstant], inFlight: DeliveryAgent.RequestKind?,
    arrivals: [DeliveryAgent.RequestKind: BootInstant]? = nil, floorStart: BootInstant?, bounds: TimeBounds?,
    delivered: Timestamp? = nil
  ) {
    self.boot = boot
    self.vehicle = StoredRunState.name(of: vehicle)
    self.attempts = attempts
    self.inFlight = inFlight
    self.arrivals = arrivals
    self.floorStart = floorStart
    self.bounds = bounds
    self.delivered = delivered
  }

  /// Parses what a previous run stored; lines after the known ones are ignored.
  ///
  /// - Returns: nil if the format is wrong, or the values are impossible now.
  init?(_ text: String, at now: BootInstant) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    func next(_ key: String) -> [Substring]? {
      guard let words = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false),
        words.first.map({ $0 == key }) == true
      else { return nil }
      return Array(words.dropFirst())
    }
    func numbers(_ key: String, atMost limit: Int) -> [Int64]? {
      guard let words = next(key), words.count <= limit else { return nil }
      let numbers = words.compactMap { Int64($0) }
      return numbers.count == words.count ? numbers : nil
    }
    func instants(_ key: String, atMost limit: Int) -> [BootInstant]? {
      guard let numbers = numbers(key, atMost: limit), numbers == numbers.sorted(),
        numbers.allSatisfy({ 0 <= $0 && $0 <= now.nanoseconds })
      else { return nil }
      return numbers.map { BootInstant(nanoseconds: $0) }
    }
    guard lines.popFirst().map({ $0 == StoredRunState.title }) == true, let boot = next("boot"), boot.count == 1,
      let vehicle = next("vehicle"), vehicle.count == 1,
      let attempts = instants("attempts", atMost: AttemptLimiter.perMinute),
      let inFlight = numbers("underway", atMost: 1), inFlight.count == 1, (0...2).contains(inFlight[0]),
      let accepted = instants("accepted", atMost: 1), let time = numbers("time", atMost: 3)
    else { return nil }
    // Earlier versions do not write this line.
    if lines.first?.hasPrefix("delivered") == true {
      guard let delivered = numbers("delivered", atMost: 1) else { return nil }
      self.delivered = delivered.first.map { Timestamp(milliseconds: $0) }
    }
    guard next("end") == [] else { return nil }
    if let times = numbers("arrivals", atMost: 3), times.count == DeliveryAgent.RequestKind.allCases.count,
      times.allSatisfy({ $0 >= 0 })
    {
      let instants = times.map { BootInstant(nanoseconds: $0) }
      arrivals = Dictionary(uniqueKeysWithValues: zip(DeliveryAgent.RequestKind.allCases, instants))
    }
    self.boot = String(boot[0])
    self.vehicle = String(vehicle[0])
    self.attempts = attempts
    self.inFlight = DeliveryAgent.RequestKind(rawValue: inFlight[0])
    floorStart = accepted.first
    if !time.isEmpty {
      guard let bounds = TimeBounds(values: time, at: now) else { return nil }
      self.bounds = bounds
    }
  }

  static func name(of vehicle: FleetEngineVehicle) -> String {
    "\(vehicle.service.name.percentEncoded)/\(vehicle.providerID.percentEncoded)/\(vehicle.vehicleID.percentEncoded)"
  }
}

/// The rate limits hold across restarts.
extension VehicleAgent {
  mutating func restoreRunState(_ text: String, at now: Moment, _ effects: inout [Effect]) {
    guard let boot = configuration.boot else { return }
    guard let stored = StoredRunState(text, at: now.boot) else {
      let sentence = "it is not known what the previous run sent: its file in the runtime directory is damaged"
      return effects.append(.event(.settingsWarning(sentence)))
    }
    guard stored.boot == boot else { return }
    if let bounds = stored.bounds { clock.restore(bounds) }
    // A request that was in flight may have arrived at any time until now, but not after its deadline.
    let deadline = (stored.attempts.last ?? now.boot) + configuration.delivery.endpoint.deadline
    let start = stored.inFlight == .position ? min(now.boot, deadline) : stored.floorStart
    let isSameVehicle = stored.vehicle == StoredRunState.name(of: configuration.delivery.endpoint.vehicle)
    if isSameVehicle {
      let latest = now.boot + configuration.delivery.endpoint.deadline
      for (kind, end) in stored.arrivals ?? stored.inFlight.map({ [$0: deadline] }) ?? [:] {
        apply(delivery.handle(.mayArrive(kind, until: min(end, latest)), at: now.boot), at: now, &effects)
      }
    }
    apply(
      delivery.handle(
        .restoredLimits(
          stored.attempts, floorStart: isSameVehicle ? start : nil,
          delivered: isSameVehicle ? stored.delivered : nil),
        at: now.boot),
      at: now, &effects)
  }

  mutating func storeRunState(at now: Moment, _ effects: inout [Effect]) {
    guard let boot = configuration.boot, delivery.configuration.isRateLimited else { return }
    let (attempts, floorStart) = delivery.rateLimitHistory
    let stored = StoredRunState(
      boot: boot, vehicle: configuration.delivery.endpoint.vehicle, attempts: attempts,
      inFlight: delivery.inFlight ?? delivery.mayArrive(at: now.boot), arrivals: delivery.arrivalDeadlines,
      floorStart: floorStart,
      bounds: clock.confirmedBounds(at: now),
      delivered: delivery.newestDelivered)
    effects.append(.storeRunState(stored.text))
  }
}
