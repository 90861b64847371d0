// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Reduces a failing scenario as long as it still fails, to show what causes the failure.
struct Shrinker {
  /// The maximum number of runs, which take about a minute.
  private var budget = 600
  private let fails: (Scenario) -> Bool

  init(_ fails: @escaping (Scenario) -> Bool) {
    self.fails = fails
  }

  /// The smallest scenario found that still fails; the given one must fail.
  mutating func shrink(_ scenario: Scenario) -> Scenario {
    var smallest = scenario
    while let smaller = step(smallest) { smallest = smaller }
    return smallest
  }

  private mutating func step(_ scenario: Scenario) -> Scenario? {
    for candidate in Shrinker.candidates(scenario) {
      guard budget > 0 else { return nil }
      budget -= 1
      if fails(candidate) { return candidate }
    }
    return nil
  }

  /// All simplifications by one step, the largest first.
  static func candidates(_ scenario: Scenario) -> [Scenario] {
    var candidates: [Scenario] = []
    func add(_ change: (inout Scenario) -> Void) {
      var candidate = scenario
      change(&candidate)
      candidates.append(candidate)
    }
    for index in scenario.faults.indices { add { $0.faults.remove(at: index) } }
    for index in scenario.acts.indices { add { $0.acts.remove(at: index) } }
    for index in scenario.settings.indices { add { $0.settings.remove(at: index) } }
    if scenario.wallError != 0 { add { $0.wallError = 0 } }
    if scenario.tokenLife != 3600 { add { $0.tokenLife = 3600 } }
    if scenario.isDateless { add { $0.isDateless = false } }
    if scenario.secondReceiver != nil {
      add {
        $0.secondReceiver = nil
        $0.faults.removeAll { $0.source > 0 }
      }
    }
    if scenario.isAutobaud { add { $0.isAutobaud = false } }
    if scenario.isNetworked { add { $0.isNetworked = false } }
    if scenario.keepsRuntimeFiles { add { $0.keepsRuntimeFiles = false } }
    if scenario.recording != nil { add { $0.recording = nil } }
    if scenario.hasGPSD { add { $0.hasGPSD = false } }
    if scenario.hasModem { add { $0.hasModem = false } }
    if scenario.baud != 9600 { add { $0.baud = 9600 } }
    if scenario.dialect != .brief { add { $0.dialect = .brief } }
    if scenario.noise != 0 { add { $0.noise = 0 } }
    if case .steady = scenario.drive {} else { add { $0.drive = .steady(14) } }
    for part in [2, 4, 10] where scenario.duration / part > 5 { add { $0.duration -= $0.duration / part } }
    for (index, fault) in scenario.faults.enumerated() {
      let length = fault.until - fault.from
      for part in [2, 5] where length / part > 0 {
        add { $0.faults[index].until -= length / part }
        add { $0.faults[index].from += length / part }
      }
    }
    for (index, entry) in scenario.acts.enumerated() {
      switch entry.act {
      case .powerCut(let effects, let seconds):
        if effects > 0 { add { $0.acts[index].act = .powerCut(afterEffects: effects / 2, seconds: seconds) } }
        if seconds > 6 {
          add { $0.acts[index].act = .powerCut(afterEffects: effects, seconds: max(seconds / 2, 6)) }
        }
      case .kill(let effects, let seconds):
        if effects > 0 { add { $0.acts[index].act = .kill(afterEffects: effects / 2, seconds: seconds) } }
        if seconds > 6 { add { $0.acts[index].act = .kill(afterEffects: effects, seconds: max(seconds / 2, 6)) } }
      case .suspend(let seconds) where seconds > 1: add { $0.acts[index].act = .suspend(seconds / 2) }
      default: break
      }
    }
    return candidates
  }
}

extension Scenario {
  /// The scenario as Swift code, for a test.
  var source: String {
    var parts = ["seed: \(seed)", "duration: \(duration)", "drive: .\(drive)"]
    if !faults.isEmpty {
      let list = faults.map {
        "Fault(.\($0.kind), \($0.from)..<\($0.until)\($0.source > 0 ? ", of: \($0.source)" : ""))"
      }
      parts.append("faults: [\(list.joined(separator: ", "))]")
    }
    if !acts.isEmpty { parts.append("acts: [\(acts.map { "(\($0.second), .\($0.act))" }.joined(separator: ", "))]") }
    if wallError != 0 { parts.append("wallError: \(wallError.map { "\($0)" } ?? "nil")") }
    if tokenLife != 3600 { parts.append("tokenLife: \(tokenLife)") }
    if noise != 1.5 { parts.append("noise: \(noise)") }
    if !settings.isEmpty { parts.append("settings: [\(settings.map { ".\($0)" }.joined(separator: ", "))]") }
    if isDateless { parts.append("isDateless: true") }
    if dialect != .brief { parts.append("dialect: .\(dialect)") }
    if baud != 9600 { parts.append("baud: \(baud)") }
    if isAutobaud { parts.append("isAutobaud: true") }
    if isNetworked { parts.append("isNetworked: true") }
    if hasModem { parts.append("hasModem: true") }
    if hasGPSD { parts.append("hasGPSD: true") }
    if let recording { parts.append("recording: .\(recording)") }
    if let secondReceiver {
      parts.append("secondReceiver: .init(lag: \(secondReceiver.lag), metresOff: \(secondReceiver.metresOff))")
    }
    if hasInstallationFaults { parts.append("hasInstallationFaults: true") }
    if keepsRuntimeFiles { parts.append("keepsRuntimeFiles: true") }
    if hasCertificates { parts.append("hasCertificates: true") }
    return "Scenario(\(parts.joined(separator: ", ")))"
  }
}
