// SPDX-License-Identifier: Apache-2.0
package import ExternalInput

/// The result of one check: what was found, and what to do about a problem.
package struct Finding: Equatable, Sendable {
  /// The severity.
  package enum Severity: String, Sendable {
    case pass
    /// It may work, but should be looked at.
    case warn
    /// The service cannot work like this.
    case fail
  }

  /// What was found, for programs (`doctor --json`): docs/doctor.md describes each. None is ever renamed.
  package enum Code: String, CaseIterable, Sendable {
    /// The code of everything that passes.
    case ok
    // The settings and the files that they name.
    case settingsMistake, settingsWarning, settingsIncomplete, credentialWarning, clientSettings, fileUnreadable
    // A device and its receiver.
    case deviceMissing, deviceUnusable, deviceClass, deviceDenied, deviceInUse, deviceLost, baudUnsupported
    case receiverSilent, otherProtocol, noSentences, noPositionSentences, wrongChecksums, noFix, simulated
    case gpsdVersion, gpsdRefused, listenFailed, senderRefused
    case modemManagerFailed, modemUnusable, modemOff, modemDenied, positionsExposed
    // Clocks.
    case clockWithoutDate, weekRollover, clockOffset, clockUnknown
    // The token provider.
    case noToken, tokenDefect, tokenShortLived, tokenExpiration, tokenSize, tokenUnstable
    case contentType, caching, providerOpen, providerStatus
    // Fleet Engine, and every other server.
    case nameUnresolved, unreachable, connectionFailed, otherServer, fleetEngineUnavailable
    case unencrypted, tokenRejected, updateRejected
    // The unit in systemd.
    case systemdUnreachable, unitMissing, unitMasked, unitBroken, unitDisabled, unitChanged, noSettings
    case unitInactive, unitStarting, unitStopping, unitFailed, unitRestarts, unitRestarted, unitCannotStart
    case credentialChanged, credentialExposed
    // The daemon.
    case daemonUnreachable, otherVehicle, reloadFailed, settingsTakenBack, settingsUnconfirmed, settingsNotLoaded
    case releaseDiffers, memoryOnly, plainUpdates, sourceUnusable
    case pauseUnreadable, dutyUnreadable, offlinePending, notSending, noUpdate
    // The check itself.
    case notExamined, checkFailed
  }

  /// Determines the mark before the sentence, and the exit status.
  package let severity: Severity
  /// What was found, in one word.
  package let code: Code
  /// One sentence without its full stop. No coordinates and no secrets, because the output is passed on to others.
  package let sentence: String
  /// What to do about it; nil if nothing is needed.
  package let advice: String?

  /// The sentence, and the advice on a line of its own.
  package var message: String { [sentence, advice].compactMap { $0 }.joined(separator: "\n") }

  /// No problem.
  package static func pass(_ sentence: String) -> Finding { Finding(.pass, .ok, sentence, nil) }

  /// It may work; `advice` says what to look at.
  package static func warn(_ code: Code, _ sentence: String, _ advice: String) -> Finding {
    Finding(.warn, code, sentence, advice)
  }

  /// The service cannot work like this; `advice` says what to do.
  package static func fail(_ code: Code, _ sentence: String, _ advice: String) -> Finding {
    Finding(.fail, code, sentence, advice)
  }

  /// It may work; the problem's advice says what to look at.
  package static func warn(_ code: Code, _ problem: some ReportedProblem) -> Finding { Finding(.warn, code, problem) }

  /// The service cannot work like this; the problem's advice says what to do.
  package static func fail(_ code: Code, _ problem: some ReportedProblem) -> Finding { Finding(.fail, code, problem) }

  /// The same finding with other words.
  func rewording(_ reword: (String) -> String) -> Finding {
    Finding(severity, code, reword(sentence), advice.map(reword))
  }

  private init(_ severity: Severity, _ code: Code, _ problem: some ReportedProblem) {
    self.init(severity, code, problem.sentence.text, problem.advice?.sentenceCase)
  }

  private init(_ severity: Severity, _ code: Code, _ sentence: String, _ advice: String?) {
    self.severity = severity
    self.code = code
    self.sentence = sentence
    self.advice = advice
  }
}
