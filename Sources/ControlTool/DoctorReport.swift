// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import JSON
import Release

/// The report of `doctor --json`, collected part by part: docs/doctor.md describes its keys, which are never renamed.
struct DoctorReport: Equatable, Codable {
  /// One check.
  struct Check: Equatable, Codable {
    /// A `Doctor.Subject`.
    var check: String
    /// The heading that a person sees.
    var title: String
    var findings: [Item] = []
  }

  /// One finding.
  struct Item: Equatable, Codable {
    /// `pass`, `warn` or `fail`.
    var severity: String
    /// A `Finding.Code`.
    var code: String
    var sentence: String
    /// Nil if nothing is needed.
    var advice: String?
  }

  /// The first failure.
  struct Cause: Equatable, Codable {
    var check: String
    var code: String
    var sentence: String
  }

  /// The version of this program.
  var version = Release.version
  /// Why the checks did not run as the service; nil if they did.
  var remark: String?
  /// Whether a daemon has answered on its control socket.
  var isDaemonRunning: Bool
  /// Whether no check has failed.
  var isHealthy = true
  var passed = 0
  var warnings = 0
  var failed = 0
  /// Nil without a failure.
  var cause: Cause?
  var checks: [Check] = []

  /// - Parameters:
  ///   - remark: with or without its line end; empty for none.
  ///   - isDaemonRunning: whether a daemon has answered on its control socket.
  init(remark: String, isDaemonRunning: Bool) {
    self.remark = remark.isEmpty ? nil : remark.split(separator: "\n").joined(separator: "; ")
    self.isDaemonRunning = isDaemonRunning
  }

  /// Adds the next part. The summary is computed from the findings themselves.
  mutating func add(_ part: Doctor.Part) {
    switch part {
    case .title(let title, let subject): checks.append(Check(check: subject.rawValue, title: title))
    case .finding(let finding): add(finding)
    case .summary: break
    }
  }

  private mutating func add(_ finding: Finding) {
    guard let last = checks.indices.last else { return }
    checks[last].findings.append(
      Item(
        severity: finding.severity.rawValue, code: finding.code.rawValue, sentence: finding.sentence,
        advice: finding.advice))
    switch finding.severity {
    case .pass: passed += 1
    case .warn: warnings += 1
    case .fail:
      failed += 1
      isHealthy = false
      cause = cause ?? Cause(check: checks[last].check, code: finding.code.rawValue, sentence: finding.sentence)
    }
  }

  /// One line of JSON with its line end.
  var line: [UInt8] { ((try? JSONValue(encoding: self).encoded) ?? []) + [UInt8(ascii: "\n")] }
}
