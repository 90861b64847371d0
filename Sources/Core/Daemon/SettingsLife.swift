// SPDX-License-Identifier: Apache-2.0
package import Vehicle
import Timekeeping

/// What came of reading the settings, and of preparing what they need. Nothing has changed yet.
package enum SettingsOutcome: Equatable, Sendable {
  /// All is ready for them. `lockedBy`: as in `VehicleAgent.Input.vehicleLocked`.
  indirect case valid(Daemon.Configuration, lockedBy: VehicleHolder? = nil)
  /// They are valid, but for files or credentials that they name and that are not there yet; which, and what to do.
  case missing(String, known: KnownSettings = KnownSettings())
  /// The settings, or files or credentials that they name, have these mistakes, one a line, with what to do.
  case invalid(String)
  /// They are valid, but what they name cannot be used: a certificate, a route or a recording; why, and what to do.
  /// `isMissing`: whether only a route or recording does not exist.
  case unusable(String, isMissing: Bool)

  /// Why the settings are not used; nil if they can be.
  var refusal: String? {
    switch self {
    case .valid: nil
    case .missing(let why, _), .invalid(let why), .unusable(let why, _): why
    }
  }
}

/// What is known of settings that name something that is missing.
package struct KnownSettings: Equatable, Sendable {
  /// Of the vehicle; nil if it is not known.
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

/// What came of reading the last settings that worked.
package enum KeptSettingsOutcome: Equatable, Sendable {
  /// There are none.
  case none
  /// They were read. `invalid`: why they are not used, as a sentence; `missing`: likewise.
  case read(SettingsOutcome)
}

/// The life of the settings: they are read and prepared, then used or refused, and proven by the first update.
struct SettingsLife: Sendable {
  /// Valid settings.
  struct Prepared: Sendable {
    var configuration: Daemon.Configuration
    var holder: VehicleHolder?
    /// Requests that are answered when they are in force.
    var requests: [UInt64]
  }

  /// Settings that are not in force yet, because the store writes what belongs to the previous ones.
  private var next: Prepared?
  /// `settingsRead` follows.
  private var isReading = false
  /// The files may have changed since they were read.
  private var isReadAgain = false
  /// Requests that the next outcome answers.
  private var requests: [UInt64] = []
  /// Since when settings are in force that no update has proven, with their text; nil: they are proven, or not to be
  /// stored.
  private(set) var unproven: (text: String, since: BootInstant)?

  /// - Parameter text: of the first settings; nil: they are not to be stored.
  init(text: String?) {
    began(text: text, at: .boot)
  }

  /// Whether all that was read is in force or refused.
  var isSettled: Bool { !isReading && next == nil }

  /// Whether there are settings that are not in force yet.
  var hasNext: Bool { next != nil }

  /// The settings are to be read.
  ///
  /// - Parameter request: is answered when it is known what came of it; nil: nobody waits.
  /// - Returns: whether to read them now.
  mutating func read(for request: UInt64?) -> Bool {
    if let request { requests.append(request) }
    defer { (isReadAgain, isReading) = (isReading, true) }
    return !isReading
  }

  /// The settings were read.
  ///
  /// - Returns: the requests that this answers; nil: the files are to be read again, because they may have changed.
  mutating func wasRead() -> [UInt64]? {
    guard !isReadAgain else {
      isReadAgain = false
      return nil
    }
    isReading = false
    defer { requests = [] }
    return requests
  }

  /// These settings follow, also in place of others that are not in force yet.
  mutating func follow(_ prepared: Prepared) {
    var prepared = prepared
    prepared.requests = (next?.requests ?? []) + prepared.requests
    next = prepared
  }

  /// - Returns: the settings that are in force from now on; nil if there are none.
  mutating func use() -> Prepared? {
    defer { next = nil }
    return next
  }

  /// Settings are in force from now on.
  ///
  /// - Parameter text: theirs; nil: they are not to be stored.
  mutating func began(text: String?, at now: BootInstant) {
    unproven = text.map { ($0, now) }
  }

  /// Fleet Engine has accepted an update that was sent then.
  ///
  /// - Returns: the text of the settings that this proves, to be stored as the last that worked; nil if there are none.
  mutating func accepted(sentAt: BootInstant) -> String? {
    guard let (text, since) = unproven, sentAt >= since else { return nil }
    unproven = nil
    return text
  }
}
