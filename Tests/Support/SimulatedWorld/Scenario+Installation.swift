// SPDX-License-Identifier: Apache-2.0
import Daemon
import Timekeeping

/// Faults around the vehicle: settings, credentials, directories. Each is drawn from a seed of its own.
extension Scenario {
  mutating func addInstallationFaults() {
    hasInstallationFaults = true
    addMistakes()
    addMissingCredential()
    addReloads()
    addDeletedDirectory()
    addOtherBoot()
    addRequests()
    addMoreRequests()
    addUnusableSettings()
    addEdits()
    addGPSD()
    addRecording()
  }

  /// Mistakes in the settings, or unreadable settings, from the start or later, and a restart or a reload while they
  /// last.
  private mutating func addMistakes() {
    var random = SplitMix64(seed: seed ^ 0x7365_7474)
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let from = Int.random(in: 0..<3, using: &random) == 0 ? 0 : Int.random(in: 0..<duration, using: &random)
      let length = Int.random(in: 1...200, using: &random)
      let kinds: [Fault.Kind] = [
        .settingsWrong(mayConcernVehicle: false), .settingsWrong(mayConcernVehicle: true), .settingsUnreadable,
        .settingsDeleted,
      ]
      faults.append(Fault(kinds.randomElement(using: &random) ?? .settingsUnreadable, from..<(from + length)))
      let moment = from + Int.random(in: 0...length, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: acts.append((moment, .ask(.reload)))
      case 1: acts.append((moment, .powerCut(afterEffects: Int.random(in: 0...6, using: &random), seconds: 10)))
      case 2: acts.append((moment, .kill(afterEffects: Int.random(in: 0...6, using: &random), seconds: 2)))
      default: break
      }
      if Bool.random(using: &random) { acts.append((from + length, .ask(.reload))) }
    }
  }

  /// A credential that is late, or never appears, or is missing at a restart.
  private mutating func addMissingCredential() {
    var random = SplitMix64(seed: seed ^ 0x6372_6564)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: faults.append(Fault(.credentialMissing, 0..<Int.random(in: 1...300, using: &random)))
    case 1: faults.append(Fault(.credentialMissing, 0..<(duration + 1)))
    case 2:
      let from = Int.random(in: 1..<duration, using: &random)
      faults.append(Fault(.credentialMissing, from..<(from + Int.random(in: 1...200, using: &random))))
      let effects = Int.random(in: 0...6, using: &random)
      acts.append((from, .kill(afterEffects: effects, seconds: Int.random(in: 1...20, using: &random))))
    default: break
    }
  }

  private mutating func addReloads() {
    var random = SplitMix64(seed: seed ^ 0x7265_6C6F)
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let second = Int.random(in: 0..<duration, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: acts.append((second, .reload(vehicle: "truck-2")))
      case 1: acts.append((second, .reload(vehicle: "truck-1")))
      default: acts.append((second, .ask(.reload)))
      }
    }
  }

  /// Changes of the token provider that need a confirmation, some followed by a power cut. A wrong provider is
  /// corrected later.
  private mutating func addEdits() {
    var random = SplitMix64(seed: seed ^ 0x6564_6974)
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      let second = Int.random(in: 0..<duration, using: &random)
      let isWrong = Int.random(in: 0..<3, using: &random) != 0
      acts.append((second, .edit(isTokenWrong: isWrong, confirm: 60 * Int.random(in: 1...3, using: &random))))
      let cut = second + Int.random(in: 0...200, using: &random)
      let effects = Int.random(in: 0...12, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: acts.append((cut, .powerCut(afterEffects: effects, seconds: 10)))
      case 1: acts.append((cut, .kill(afterEffects: effects, seconds: 2)))
      default: break
      }
      guard isWrong else { continue }
      let correction = second + Int.random(in: 1...400, using: &random)
      acts.append((correction, .edit(isTokenWrong: false, confirm: Bool.random(using: &random) ? 60 : nil)))
      acts.append((correction + 1, .ask(.reload)))
    }
  }

  private mutating func addDeletedDirectory() {
    var random = SplitMix64(seed: seed ^ 0x6469_7265)
    guard Int.random(in: 0..<4, using: &random) == 0 else { return }
    let milliseconds = Int.random(in: 0...15_000, using: &random)
    let second = Int.random(in: 1..<duration, using: &random)
    acts.append((second, .deleteDirectory(noticedAfter: milliseconds)))
    // A duty command of the driver cannot be stored without the directory.
    switch Int.random(in: 0..<3, using: &random) {
    case 0: acts.append((second + Int.random(in: 0...8, using: &random), .pause))
    case 1: acts.append((second + Int.random(in: 0...8, using: &random), .goOffline))
    default: break
    }
  }

  /// A runtime directory that survives a reboot.
  private mutating func addOtherBoot() {
    var random = SplitMix64(seed: seed ^ 0x626F_6F74)
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    keepsRuntimeFiles = true
    let effects = Int.random(in: 0...6, using: &random)
    let seconds = Int.random(in: 6...60, using: &random)
    acts.append((Int.random(in: 1..<duration, using: &random), .powerCut(afterEffects: effects, seconds: seconds)))
  }

  /// A receiver that is read through gpsd: its data is not corrupted in transit, and it always reports a date.
  private mutating func addGPSD() {
    var random = SplitMix64(seed: seed ^ 0x6770_7364)
    guard Int.random(in: 0..<4, using: &random) == 0, !isDateless, !isNetworked, !hasModem else { return }
    hasGPSD = true
    isAutobaud = false
    faults.removeAll { fault in
      switch fault.kind {
      case .noise, .bytesLost, .speed: fault.source == 0
      default: false
      }
    }
  }

  /// A recording in a pipe, which may end. Its times are the receiver's, and are not compared with other clocks; the
  /// settings allow no second source with it. A recording is replayed at the pace of its times, so reordered epochs
  /// would delay everything after them.
  private mutating func addRecording() {
    var random = SplitMix64(seed: seed ^ 0x7265_636F)
    guard Int.random(in: 0..<5, using: &random) == 0, !hasGPSD, !isNetworked, !hasModem, !isDateless,
      secondReceiver == nil
    else { return }
    recording = .pipe
    isAutobaud = false
    faults.removeAll { fault in
      switch fault.kind {
      case .speed, .unplugged, .ahead, .behind, .undated, .noTime, .swapped: true
      default: false
      }
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      acts.append((Int.random(in: 1..<duration, using: &random), .sourceEnded))
    }
  }

  /// Requests of a driver's app, from a seed of their own.
  private mutating func addMoreRequests() {
    var random = SplitMix64(seed: seed ^ 0x6D6F_6E69)
    guard Int.random(in: 0..<4, using: &random) == 0 else { return }
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let request: Daemon.Request = Bool.random(using: &random) ? .monitor : .sendNow
      acts.append((Int.random(in: 0..<duration, using: &random), .ask(request)))
    }
  }

  /// Settings with an unusable certificate, from a seed of their own.
  private mutating func addUnusableSettings() {
    var random = SplitMix64(seed: seed ^ 0x756E_7573)
    guard Int.random(in: 0..<10, using: &random) == 0 else { return }
    let from = Bool.random(using: &random) ? 0 : Int.random(in: 1..<duration, using: &random)
    let length = Int.random(in: 1...200, using: &random)
    faults.append(Fault(.settingsUnusable, from..<(from + length)))
    acts.append((from + Int.random(in: 0...length, using: &random), .ask(.reload)))
    acts.append((from + length, .ask(.reload)))
  }

  private mutating func addRequests() {
    var random = SplitMix64(seed: seed ^ 0x6173_6B73)
    for _ in 0..<Int.random(in: 2...8, using: &random) {
      let requests: [Daemon.Request] = [.status, .status, .metrics, .reload]
      acts.append(
        (Int.random(in: 0..<duration, using: &random), .ask(requests.randomElement(using: &random) ?? .status)))
    }
  }
}
