// SPDX-License-Identifier: Apache-2.0
import Delivery
import Vehicle
import FleetEngine
import Observability
import Timekeeping

/// Settings: the first ones, and a reload, which reads and prepares, then uses or refuses. All that can fail has
/// happened before anything changes.
extension Run {
  /// Uses the first settings.
  mutating func begin(_ first: SettingsLife.Prepared, at now: Moment, _ observer: Observer?) -> [Effect] {
    var effects = [Effect.useSettings]
    servePositions(first.configuration, at: now, observer, &effects)
    if let holder = first.holder {
      pass(.vehicleLocked(by: holder), at: now, observer, &effects)
      sources.isVehicleInUse = true
    }
    if let mistake = first.configuration.settings.mistake { effects.append(.event(.settingsKept(mistake))) }
    effects += first.configuration.warnings.map { .event(.settingsWarning($0)) }
    effects += first.requests.map { .respond(id: $0, .done(remark: nil)) }
    updateDeadline()
    return effects
  }

  /// - Parameter request: is answered when the settings are in force or refused; nil: nobody waits.
  mutating func reload(for request: UInt64?, _ effects: inout [Effect]) {
    guard vehicle.lifecycle.isRunning else {
      if let request { effects.append(.respond(id: request, Run.stopping)) }
      return
    }
    if settings.read(for: request) { effects.append(.readSettings) }
  }

  mutating func settingsRead(_ outcome: SettingsOutcome, at now: Moment, _ effects: inout [Effect]) {
    guard let requests = settings.wasRead() else { return effects.append(.readSettings) }
    if case .valid(let configuration, let holder) = outcome {
      settings.follow(SettingsLife.Prepared(configuration: configuration, holder: holder, requests: requests))
      let vehicle = configuration.vehicle.delivery.endpoint.vehicle
      feedStore(.configured(configuration.store, vehicle), at: now.boot, &effects)
    }
    guard let mistakes = outcome.refusal else { return }
    publication.reloadRefused(mistakes, at: now.boot)
    effects.append(.event(.reloadRefused(mistakes)))
    if settings.isSettled { effects.append(.ready) }
    effects += requests.map { .respond(id: $0, .refused(.settingsRefused, mistakes)) }
  }

  /// Uses the settings that were prepared, once the store has written what belongs to the previous ones.
  mutating func useSettings(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    guard settings.hasNext, store.isSettled, let new = settings.use() else { return }
    settings.began(text: new.configuration.settingsText, at: now.boot)
    sources.isVehicleInUse = new.holder != nil
    publication.configure(new.configuration, at: now.boot)
    effects.append(.useSettings)
    servePositions(new.configuration, at: now, observer, &effects)
    pass(.configure(new.configuration.vehicle, lockedBy: new.holder), at: now, observer, &effects)
    feedStore(.start, at: now.boot, &effects)
    passReports(at: now, observer, &effects)
    effects.append(.event(.reloaded))
    effects += new.configuration.warnings.map { .event(.settingsWarning($0)) }
    if settings.isSettled { effects.append(.ready) }
    effects += new.requests.map { .respond(id: $0, .done(remark: nil)) }
  }

  /// Opens or closes the socket for positions. With a reload, one that could not be opened is tried again.
  private mutating func servePositions(
    _ new: Configuration, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]
  ) {
    guard servesPositions || new.servesPositions else { return }
    servesPositions = new.servesPositions
    effects.append(.servePositions(servesPositions))
    if !servesPositions { pass(.positionsMonitored(false), at: now, observer, &effects) }
  }
}
