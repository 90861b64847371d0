// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import HTTPMessages
import Timekeeping

/// What the next run of the program in the same boot has to know to keep what is promised: the last requests, the last
/// accepted update, and what time it is.
///
/// It is read from a file, and so checked like anything that comes from outside.
struct KeptLimits: Equatable, Sendable {
  private static let title = "fleet-locationd limits 1"

  /// The kernel's name of this boot; the instants mean nothing in another one.
  var boot: String
  /// Whose floor `spacedFrom` is: service, provider and vehicle.
  var vehicle: String
  /// The last requests, oldest first.
  var attempts: [BootInstant]
  /// What the last of them sets, if it had not ended.
  var underWay: DeliveryAgent.RequestKind?
  /// When the last update was accepted.
  var spacedFrom: BootInstant?
  /// Nil when no server has given the time, or only one and once.
  var bounds: TimeBounds?
  /// The time of the newest position that Fleet Engine has; nil when none is known.
  var delivered: Timestamp?

  /// What is written: lines of a key and numbers. Less than 2 kB for the longest vehicle's ID.
  var text: String {
    func line(_ key: String, _ values: [Int64]) -> String {
      values.isEmpty ? "\(key)\n" : "\(key) \(values.map(String.init).joined(separator: " "))\n"
    }
    return "\(KeptLimits.title)\nboot \(boot)\nvehicle \(vehicle)\n"
      + line("attempts", attempts.map(\.nanoseconds)) + line("underway", [underWay?.rawValue ?? 0])
      + line("accepted", spacedFrom.map { [$0.nanoseconds] } ?? []) + line("time", bounds?.values ?? [])
      + line("delivered", delivered.map { [$0.milliseconds] } ?? []) + "end\n"
  }

  init(
    boot: String, vehicle: FleetEngineVehicle, attempts: [BootInstant], underWay: DeliveryAgent.RequestKind?,
    spacedFrom: BootInstant?, bounds: TimeBounds?, delivered: Timestamp? = nil
  ) {
    self.boot = boot
    self.vehicle = KeptLimits.name(of: vehicle)
    self.attempts = attempts
    self.underWay = underWay
    self.spacedFrom = spacedFrom
    self.bounds = bounds
    self.delivered = delivered
  }

  /// Reads what an earlier run has written; what follows the last line does not count.
  ///
  /// - Returns: nil for what this program does not write, or what cannot be at this time.
  init?(_ text: String, at now: BootInstant) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    func next(_ key: String) -> [Substring]? {
      guard let words = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false),
        words.first.map({ $0 == key }) == true
      else { return nil }
      return Array(words.dropFirst())
    }
    func numbers(_ key: String, most: Int) -> [Int64]? {
      guard let words = next(key), words.count <= most else { return nil }
      let numbers = words.compactMap { Int64($0) }
      return numbers.count == words.count ? numbers : nil
    }
    func instants(_ key: String, most: Int) -> [BootInstant]? {
      guard let numbers = numbers(key, most: most), numbers == numbers.sorted(),
        numbers.allSatisfy({ 0 <= $0 && $0 <= now.nanoseconds })
      else { return nil }
      return numbers.map { BootInstant(nanoseconds: $0) }
    }
    guard lines.popFirst().map({ $0 == KeptLimits.title }) == true, let boot = next("boot"), boot.count == 1,
      let vehicle = next("vehicle"), vehicle.count == 1,
      let attempts = instants("attempts", most: AttemptLimiter.perMinute),
      let underWay = numbers("underway", most: 1), underWay.count == 1, (0...2).contains(underWay[0]),
      let accepted = instants("accepted", most: 1), let time = numbers("time", most: 3)
    else { return nil }
    // An earlier version of the program does not write it.
    if lines.first?.hasPrefix("delivered") == true {
      guard let delivered = numbers("delivered", most: 1) else { return nil }
      self.delivered = delivered.first.map { Timestamp(milliseconds: $0) }
    }
    guard next("end") == [] else { return nil }
    self.boot = String(boot[0])
    self.vehicle = String(vehicle[0])
    self.attempts = attempts
    self.underWay = DeliveryAgent.RequestKind(rawValue: underWay[0])
    spacedFrom = accepted.first
    if !time.isEmpty {
      guard let bounds = TimeBounds(values: time, at: now) else { return nil }
      self.bounds = bounds
    }
  }

  static func name(of vehicle: FleetEngineVehicle) -> String {
    "\(vehicle.service.name.percentEncoded)/\(vehicle.providerID.percentEncoded)/\(vehicle.vehicleID.percentEncoded)"
  }
}

/// The promises of 5 s and of twelve requests a minute do not end with a run.
extension VehicleAgent {
  mutating func resumeLimits(_ text: String, at now: Moment, _ effects: inout [Effect]) {
    guard let boot = configuration.boot else { return }
    guard let kept = KeptLimits(text, at: now.boot) else {
      let sentence = "what the previous run has sent is not known: its file in the runtime directory is damaged"
      return effects.append(.event(.settingsWarning(sentence)))
    }
    guard kept.boot == boot else { return }
    if let bounds = kept.bounds { clocks.restore(bounds) }
    // One that was under way may have arrived as late as now, and not after its deadline.
    let deadline = (kept.attempts.last ?? now.boot) + configuration.delivery.endpoint.deadline
    let start = kept.underWay == .position ? min(now.boot, deadline) : kept.spacedFrom
    let isSame = kept.vehicle == KeptLimits.name(of: configuration.delivery.endpoint.vehicle)
    if isSame, let kind = kept.underWay {
      apply(delivery.handle(.mayArrive(kind, until: deadline), at: now.boot), at: now, &effects)
    }
    apply(
      delivery.handle(
        .resumed(kept.attempts, spacedFrom: isSame ? start : nil, delivered: isSame ? kept.delivered : nil),
        at: now.boot),
      at: now, &effects)
  }

  func keepLimits(_ effects: inout [Effect]) {
    guard let boot = configuration.boot, delivery.configuration.isLimited else { return }
    let (attempts, spacedFrom) = delivery.limits
    let kept = KeptLimits(
      boot: boot, vehicle: configuration.delivery.endpoint.vehicle, attempts: attempts,
      underWay: delivery.underWay, spacedFrom: spacedFrom, bounds: isTimeConfirmed ? timeBounds : nil,
      delivered: delivery.newestDelivered)
    effects.append(.keepLimits(kept.text))
  }
}
