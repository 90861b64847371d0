// SPDX-License-Identifier: Apache-2.0
package import Vehicle
import Timekeeping

/// The result of reading the settings, and of preparing what they need. They are not in force yet; only the lock of
/// another vehicle that they name may be taken already.
package enum SettingsOutcome: Equatable, Sendable {
  /// Everything is ready for them. `lockedBy`: as in `VehicleAgent.Input.vehicleLocked`.
  indirect case valid(Daemon.Configuration, lockedBy: VehicleHolder? = nil)
  /// They are valid, but files or credentials that they name are not there yet. The text says which, and what to do.
  case missing(String, known: KnownSettings = KnownSettings())
  /// The settings, or files or credentials that they name, have these mistakes, one per line, with what to do.
  case invalid(String)
  /// They are valid, but a certificate, route or recording that they name cannot be used. The text says why, and what
  /// to do. `isMissing`: the only problem is that a route or recording does not exist.
  case unusable(String, isMissing: Bool)

  /// Why the settings are not used; nil if they can be.
  var refusal: String? {
    switch self {
    case .valid: nil
    case .missing(let why, _), .invalid(let why), .unusable(let why, _): why
    }
  }
}

/// What is known about settings that name something that is missing.
package struct KnownSettings: Equatable, Sendable {
  /// The vehicle's provider; nil if it is not known.
  package var provider: String?
  /// The vehicle's ID; nil if it is not known.
  package var vehicle: String?
  /// The path of the metrics file; nil if there is none, or it is not known.
  package var metricsFile: String?

  package init(provider: String? = nil, vehicle: String? = nil, metricsFile: String? = nil) {
    self.provider = provider
    self.vehicle = vehicle
    self.metricsFile = metricsFile
  }
}

/// The result of reading the last settings that worked.
package enum KeptSettingsOutcome: Equatable, Sendable {
  /// There are none.
  case none
  /// They were read. The text of `invalid` and `missing` is a sentence that says why they are not used.
  case read(SettingsOutcome)
}

/// The life of the settings: they are read and prepared, then used or refused, and verified by the first update. Some
/// need this as a confirmation, and are reverted without it.
struct SettingsLifecycle: Sendable {
  /// Valid settings.
  struct Prepared: Sendable {
    var configuration: Daemon.Configuration
    var holder: VehicleHolder?
    /// Requests that are answered when these settings are in force.
    var requests: [UInt64]
    /// The time for their confirmation that a request asks for; nil: no request asks for one.
    var confirmationLimit: Duration?
  }

  /// Settings that are not in force yet, because the store writes what belongs to the previous ones.
  private var next: Prepared?
  /// `settingsRead` follows.
  private var isReading = false
  /// The files may have changed since they were read.
  private var isRereadPending = false
  /// Requests that the next outcome answers.
  private var requests: [UInt64] = []
  /// When the settings in force came into force, with their text, while no accepted update has verified them; nil: they
  /// are verified, or are not to be stored.
  private(set) var unverified: (text: String, since: BootInstant)?
  /// The time for the confirmation that the requests ask for; nil: no request asks for one.
  private var limit: Duration?
  /// The confirmation of the settings in force; nil: they need none, or have it.
  private(set) var confirmation: SettingsConfirmation?
  /// What is on disk about a confirmation; nil: nothing.
  private(set) var record: ConfirmationRecord?
  /// What the vehicle had before the settings that were reverted last, and until when it is to have that again; nil:
  /// none were.
  private var reverted: (availability: SettingsConfirmation.Availability, until: BootInstant)?
  /// Why the settings in force are being reverted; nil unless the last settings that worked are being read for that.
  private(set) var revertReason: String?

  /// - Parameters:
  ///   - text: the text of the first settings; nil: they are not to be stored.
  ///   - record: what an earlier run has stored about a confirmation.
  init(text: String?, record: ConfirmationRecord? = nil) {
    self.record = record
    activated(text: text, at: .boot)
  }

  /// Whether everything that was read is in force or refused.
  var isSettled: Bool { !isReading && next == nil }

  /// Whether there are settings that are not in force yet.
  var hasNext: Bool { next != nil }

  /// The settings are to be read.
  ///
  /// - Parameters:
  ///   - request: answered when the result is known; nil: no client is waiting.
  ///   - limit: the time for their confirmation; nil: the request asks for none.
  /// - Returns: whether to read them now.
  mutating func beginReading(for request: UInt64?, confirmingWithin limit: Duration? = nil) -> Bool {
    if let request { requests.append(request) }
    self.limit = limit ?? self.limit
    defer { (isRereadPending, isReading) = (isReading, true) }
    return !isReading
  }

  /// The settings were read.
  ///
  /// - Returns: the requests that this answers, and the time for the confirmation that they ask for; nil: the files are
  ///   to be read again, because they may have changed.
  mutating func finishReading() -> (requests: [UInt64], limit: Duration?)? {
    guard !isRereadPending else {
      isRereadPending = false
      return nil
    }
    isReading = false
    defer { (requests, limit) = ([], nil) }
    return (requests, limit)
  }

  /// These settings come into force next, in place of any that are not in force yet.
  mutating func setNext(_ prepared: Prepared) {
    var prepared = prepared
    prepared.requests = (next?.requests ?? []) + prepared.requests
    prepared.confirmationLimit = prepared.confirmationLimit ?? next?.confirmationLimit
    next = prepared
  }

  /// - Returns: the settings that are in force from now on; nil if there are none.
  mutating func takeNext() -> Prepared? {
    defer { next = nil }
    return next
  }

  /// Settings are in force from now on.
  ///
  /// - Parameter text: their text; nil: they are not to be stored.
  mutating func activated(text: String?, at now: BootInstant) {
    unverified = text.map { ($0, now) }
  }

  /// Fleet Engine has accepted an update that was sent at that time. Settings that need a confirmation are verified
  /// only after a fix from a changed source, and a token from a changed provider.
  ///
  /// - Returns: the text of the settings that this verifies, to be stored as the last settings that worked; nil if this
  ///   verifies none.
  mutating func accepted(sentAt: BootInstant) -> String? {
    guard let (text, since) = unverified, sentAt >= since,
      confirmation?.isConfirmed(byUpdateSentAt: sentAt) != false
    else { return nil }
    (unverified, confirmation, record) = (nil, nil, nil)
    return text
  }

  // MARK: - The confirmation

  /// What follows when settings come into force.
  struct Activation: Equatable {
    /// They need a confirmation.
    var isConfirmationNew = false
    /// Why they need none, although a request or a file asks for it.
    var remark: String?
    /// The record on disk about a confirmation is to be removed.
    var removesRecord = false
  }

  /// Settings are in force from now on. They need a confirmation if a request or the file next to them asks for one, or
  /// if the settings before them still need one.
  ///
  /// - Parameters:
  ///   - limit: the time that a request asks for.
  ///   - previousAvailability: what the vehicle has with the settings that were in force until now.
  ///   - now: nil at the start.
  mutating func activated(
    _ configuration: Daemon.Configuration, limit: Duration?, previousAvailability: SettingsConfirmation.Availability,
    at now: BootInstant?
  ) -> Activation {
    activated(text: configuration.settingsText, at: now ?? .boot)
    revertReason = nil
    // Without a text, these are the last settings that worked, used in place of the files: they need no confirmation.
    guard configuration.settingsText != nil else {
      confirmation = nil
      return Activation()
    }
    if limit == nil, let confirmation, confirmation.parts == configuration.parts { return Activation() }
    let waiting: SettingsConfirmation.Waiting? = if case .waiting(let waiting)? = record { waiting } else { nil }
    let remark: String?
    if let limit = limit ?? configuration.confirmationLimit ?? waiting?.limit {
      if let previous = configuration.keptParts, previous.all != configuration.parts.all {
        // After a restart, the same settings have the time that is left.
        let before = now == nil && waiting?.all == configuration.parts.all ? waiting : nil
        // While settings wait for their confirmation, and for a while after they were reverted, what the vehicle lacks
        // is no fault of the previous ones.
        var availability = confirmation?.previousAvailability ?? waiting?.previousAvailability
        if let now {
          if availability == nil, let reverted, now < reverted.until { availability = reverted.availability }
          availability?.formUnion(previousAvailability)
        }
        confirmation = SettingsConfirmation(
          of: configuration.parts, previous: previous, within: before?.limit ?? limit,
          elapsed: before?.elapsed ?? .zero, previousAvailability: availability ?? previousAvailability,
          since: now ?? .boot)
        return Activation(isConfirmationNew: true)
      }
      remark =
        configuration.keptParts == nil
        ? "no settings have worked before, so there are none to go back to" : "these settings have worked already"
    } else {
      remark = nil
    }
    defer { (confirmation, record) = (nil, nil) }
    return Activation(remark: limit == nil ? nil : remark, removesRecord: record != nil)
  }

  /// Why these settings are not used: they were reverted, and have not changed. Nil: they are used.
  func rejection(of configuration: Daemon.Configuration) -> String? {
    SettingsLifecycle.rejection(of: configuration, by: record)
  }

  /// The same, according to what an earlier run has stored.
  static func rejection(of configuration: Daemon.Configuration, by record: ConfirmationRecord?) -> String? {
    guard let previous = configuration.keptParts, configuration.parts.obstacle(to: previous) == nil else { return nil }
    return record?.rejection(of: configuration.parts)
  }

  /// When to call `observe`; nil: no settings wait for a confirmation, or their clock is stopped.
  var nextDeadline: BootInstant? { isSettled ? confirmation?.nextDeadline : nil }

  /// The machine was suspended for this time, and has just resumed.
  mutating func slept(for time: Duration) { confirmation?.slept(for: time) }

  /// The vehicle's state may have changed, or the deadline has passed.
  mutating func observe(_ state: VehicleAgent.Readiness, at now: BootInstant) -> [SettingsConfirmation.Step] {
    guard isSettled, let steps = confirmation?.observe(state, at: now) else { return [] }
    for case .store(let new) in steps { record = new }
    return steps
  }

  /// Requests the last settings that worked, which are to replace those in force.
  mutating func beginRevert(because why: String) {
    _ = beginReading(for: nil)
    revertReason = why
  }

  /// The settings were read again before the revert: it is tried again after that.
  mutating func postponeRevert() {
    revertReason = nil
    confirmation?.resume()
  }

  /// These settings replace those in force.
  ///
  /// - Returns: the record to store before that.
  mutating func revert(to prepared: Prepared, because why: String, at now: BootInstant) -> ConfirmationRecord? {
    guard let confirmation else { return nil }
    let parts = confirmation.parts
    let new = ConfirmationRecord.reverted(all: parts.all, credentials: parts.credentials, why: why)
    (record, revertReason) = (new, nil)
    reverted = (confirmation.previousAvailability, until: now + confirmation.limit)
    setNext(prepared)
    return new
  }
}
