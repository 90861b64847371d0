// SPDX-License-Identifier: Apache-2.0
import SourceSelection
import Delivery
import Authorization
import Vehicle
import ExternalInput
import FleetEngine
import Observability
import Timekeeping

/// Settings: the first ones, and a reload, which reads and prepares settings, then uses or refuses them. Everything
/// that can fail happens before anything changes.
extension Run {
  /// Uses the first settings.
  mutating func begin(_ first: SettingsLifecycle.Prepared, at now: Moment, _ observer: Observer?) -> [Effect] {
    var effects = [Effect.useSettings]
    servePositions(first.configuration, at: now, observer, &effects)
    if let holder = first.holder {
      pass(.vehicleLocked(by: holder), at: now, observer, &effects)
      sources.isVehicleInUse = true
    }
    if let mistake = first.configuration.settings.mistake { effects.append(.event(.settingsKept(mistake))) }
    if let why = first.configuration.settings.revertReason { effects.append(.event(.settingsTakenBack(why))) }
    let activation = settings.activated(
      first.configuration, limit: first.confirmationLimit, previousAvailability: SettingsConfirmation.Availability(),
      at: nil)
    report(activation, &effects)
    effects += first.configuration.warnings.map { .event(.settingsWarning($0)) }
    // With the kept settings the daemon runs, but the settings of the files are not in force.
    let (mistake, revertReason) = (first.configuration.settings.mistake, first.configuration.settings.revertReason)
    let response =
      (mistake ?? revertReason).map { Daemon.Response.refused(.settingsRefused, $0) }
      ?? .done(remark: first.confirmationLimit == nil ? nil : remark(on: activation))
    effects += first.requests.map { .respond(id: $0, response) }
    updateDeadline()
    reportSettled(to: observer)
    return effects
  }

  /// - Parameters:
  ///   - request: answered when the settings are in force or refused; nil: no client is waiting.
  ///   - limit: the time for their confirmation; nil: the request asks for none.
  mutating func reload(for request: UInt64?, confirmingWithin limit: Duration? = nil, _ effects: inout [Effect]) {
    guard vehicle.lifecycle.isRunning else {
      if let request { effects.append(.respond(id: request, Run.stoppingResponse)) }
      return
    }
    if settings.beginReading(for: request, confirmingWithin: limit) { effects.append(.readSettings) }
  }

  mutating func settingsRead(_ outcome: SettingsOutcome, at now: Moment, _ effects: inout [Effect]) {
    guard let (requests, limit) = settings.finishReading() else { return effects.append(.readSettings) }
    var refusal = outcome.refusal
    if case .valid(let configuration, let holder) = outcome {
      if let why = settings.rejection(of: configuration) {
        refusal = "these settings were reverted, and are not tried again until they change: \(why)"
      } else {
        settings.setNext(
          SettingsLifecycle.Prepared(
            configuration: configuration, holder: holder, requests: requests, confirmationLimit: limit))
        let vehicle = configuration.vehicle.delivery.endpoint.vehicle
        feedStore(.configured(configuration.store, vehicle), at: now.boot, &effects)
      }
    }
    guard let refusal else { return }
    publication.reloadRefused(refusal, at: now.boot)
    effects.append(.event(.reloadRefused(refusal)))
    if settings.isSettled { effects.append(.ready) }
    effects += requests.map { .respond(id: $0, .refused(.settingsRefused, refusal)) }
  }

  /// Uses the settings that were prepared, once the store has written what belongs to the previous ones.
  mutating func useSettings(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    guard settings.hasNext, store.isSettled, let new = settings.takeNext() else { return }
    let before = vehicle.readiness(at: now.boot)
    let previousAvailability = SettingsConfirmation.Availability(
      fix: before.fixAt != nil, token: before.hasToken || isOnline)
    let activation = settings.activated(
      new.configuration, limit: new.confirmationLimit, previousAvailability: previousAvailability, at: now.boot)
    sources.isVehicleInUse = new.holder != nil
    let unconfirmedReason = publication.settings.unconfirmedReason
    publication.configure(new.configuration, at: now.boot)
    // The same settings, read again, are still unconfirmed.
    if settings.confirmation?.isOver == true { publication.settings.unconfirmedReason = unconfirmedReason }
    effects.append(.useSettings)
    servePositions(new.configuration, at: now, observer, &effects)
    feedStore(.settingsInUse, at: now.boot, &effects)
    pass(.configure(new.configuration.vehicle, lockedBy: new.holder), at: now, observer, &effects)
    passStoreReports(at: now, observer, &effects)
    effects.append(.event(.reloaded))
    effects += new.configuration.warnings.map { .event(.settingsWarning($0)) }
    report(activation, &effects)
    // A changed token provider is asked with the next update.
    if activation.isConfirmationNew, vehicle.sendRefusal == nil { pass(.sendNow, at: now, observer, &effects) }
    if settings.isSettled { effects.append(.ready) }
    effects += new.requests.map {
      .respond(id: $0, .done(remark: new.confirmationLimit == nil ? nil : remark(on: activation)))
    }
  }

  // MARK: - The confirmation

  private func report(_ activation: SettingsLifecycle.Activation, _ effects: inout [Effect]) {
    if activation.removesRecord { effects.append(.storeConfirmation(nil)) }
    guard activation.isConfirmationNew, let confirmation = settings.confirmation else { return }
    effects.append(.event(.confirmationAwaited(confirmation.limit, obstacle: confirmation.obstacle)))
  }

  private func remark(on activation: SettingsLifecycle.Activation) -> String? {
    if let remark = activation.remark { return "the new settings need no confirmation: \(remark)" }
    return settings.confirmation?.obstacle.map {
      "without a confirmation the new settings are only reported, and not reverted: \($0)"
    }
  }

  /// Fleet Engine has accepted an update that was sent at that time.
  mutating func updateAccepted(sentAt: BootInstant, _ effects: inout [Effect]) {
    let (waited, hadRecord) = (settings.confirmation != nil, settings.record != nil)
    guard let text = settings.accepted(sentAt: sentAt) else { return }
    publication.settings.unconfirmedReason = nil
    if hadRecord { effects.append(.storeConfirmation(nil)) }
    if waited { effects.append(.event(.settingsConfirmed)) }
    effects.append(.storeSettings(text))
  }

  /// The vehicle may have changed, or the time for a confirmation may be over.
  mutating func reviewConfirmation(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    guard settings.confirmation != nil,
      wasVehicleCalled || settings.nextDeadline.map({ now.boot >= $0 }) == true
    else { return }
    for step in settings.observe(vehicle.readiness(at: now.boot), at: now.boot) {
      switch step {
      case .store(let record): effects.append(.storeConfirmation(record.text))
      case .sendNow: if vehicle.sendRefusal == nil { pass(.sendNow, at: now, observer, &effects) }
      case .end: endConfirmation(at: now, &effects)
      }
    }
  }

  private mutating func endConfirmation(at now: Moment, _ effects: inout [Effect]) {
    guard let confirmation = settings.confirmation else { return }
    let why =
      "no update was accepted with them within \(confirmation.limit.humanReadable)\(failure(of: confirmation, at: now))"
    guard confirmation.obstacle == nil else {
      return stayUnconfirmed(why, because: confirmation.obstacle ?? "", &effects)
    }
    settings.beginRevert(because: why)
    effects.append(.readKeptSettings(isReverting: true))
  }

  /// What went wrong in the time for the confirmation, as the end of a sentence. Every local user can read it in
  /// STATUS=, so it has none of the text of others.
  private func failure(of confirmation: SettingsConfirmation, at now: Moment) -> String {
    let snapshot = vehicle.snapshot(at: now)
    if confirmation.isFixMissing {
      return ", because no fix came" + (snapshot.sources.lossReason.map { ": \($0)" } ?? "")
    }
    if confirmation.isTokenMissing {
      return ", because no token came" + (snapshot.tokenFailure.map { ": \($0.sentence.ownText)" } ?? "")
    }
    return (snapshot.failure?.sentence ?? snapshot.tokenFailure?.sentence).map { ": \($0.ownText)" } ?? ""
  }

  private mutating func stayUnconfirmed(_ why: String, because obstacle: String, _ effects: inout [Effect]) {
    publication.settings.unconfirmedReason = "\(why); they are not reverted, because \(obstacle)"
    effects.append(.event(.settingsUnconfirmed(why, obstacle: obstacle)))
  }

  /// The last settings that worked were read, and are to replace those in force.
  mutating func keptSettingsRead(_ outcome: KeptSettingsOutcome, at now: Moment, _ effects: inout [Effect]) {
    guard let why = settings.revertReason else { return }
    guard settings.finishReading() != nil else {
      settings.postponeRevert()
      return effects.append(.readSettings)
    }
    // An update may have been accepted since.
    guard let confirmation = settings.confirmation, vehicle.lifecycle.isRunning else { return }
    switch outcome {
    case .read(.valid(var configuration, let holder)):
      if let obstacle = confirmation.parts.obstacle(to: configuration.parts) {
        return stayUnconfirmed(why, because: obstacle, &effects)
      }
      (configuration.settingsText, configuration.settings.revertReason) = (nil, why)
      let prepared = SettingsLifecycle.Prepared(configuration: configuration, holder: holder, requests: [])
      guard let record = settings.revert(to: prepared, because: why, at: now.boot) else { return }
      effects += [.storeConfirmation(record.text), .event(.settingsTakenBack(why))]
      let vehicle = configuration.vehicle.delivery.endpoint.vehicle
      feedStore(.configured(configuration.store, vehicle), at: now.boot, &effects)
    case .read(let other): stayUnconfirmed(why, because: other.refusal ?? "", &effects)
    case .none: stayUnconfirmed(why, because: "the previous ones are not stored any more", &effects)
    }
  }

  /// Opens or closes the socket for positions. A reload retries a socket that could not be opened.
  private mutating func servePositions(
    _ new: Configuration, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    guard servesPositions || new.servesPositions else { return }
    servesPositions = new.servesPositions
    effects.append(.servePositions(servesPositions))
    if !servesPositions { pass(.positionsMonitored(false), at: now, observer, &effects) }
  }
}
