// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// A request to ModemManager.
package enum ModemRequest: Equatable, Sendable {
  /// List all modems.
  case list
  /// Enable exactly these sources; no signals.
  case enable(path: String, Modem.LocationSources)
  /// Get the position.
  case locate(path: String)
}

extension ModemSession: SourceSession {
  package var isPausable: Bool { true }

  package var lastRequest: ModemRequest? {
    if case .enable(let path, let sources)? = releaseEffect { .enable(path: path, sources) } else { nil }
  }

  /// Handles the inputs of every source, and the responses of ModemManager.
  package mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] {
    if case .needed(let isNeeded) = input { return sourceEffects(setNeeded(isNeeded, at: now.boot)) }
    if case .resumed = input { resumed(at: now.boot) }
    let modemInput: Input? =
      switch input {
      case .start: .start
      case .deadline: .deadline
      case .opened: .opened
      case .openFailed(let why): .openFailed(why)
      case .ended(let why): .ended(why)
      case .modem(let input): input
      case .appeared, .baudRefused, .drained, .needed, .resumed, .senderDisconnected, .endOfInput: nil
      }
    guard let modemInput else { return [] }
    return sourceEffects(handle(modemInput, at: now.boot))
  }

  private func sourceEffects(_ effects: [Effect]) -> [SourceEffect] {
    effects.map { effect in
      switch effect {
      case .open: .line(.open())
      case .list: .line(.modem(.list))
      case .enable(let path, let sources): .line(.modem(.enable(path: path, sources)))
      case .locate(let path): .line(.modem(.locate(path: path)))
      case .report(let report): .report(report)
      }
    }
  }
}
