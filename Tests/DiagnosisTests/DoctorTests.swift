// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Expectations
import Testing

@MainActor struct DoctorTests {
  private struct GivenFindings: Check {
    let subject = Doctor.Subject.source
    let title = "A thing"
    let findings: [Finding]

    func run(_ report: (Finding) -> Void) {
      for finding in findings { report(finding) }
    }
  }

  @Test("findings are printed at once under their title, and counted; the first failure is reported as the cause")
  func report() {
    var parts: [Doctor.Part] = []
    var doctor = Doctor { parts.append($0) }
    let findings = [Finding.pass("it is there"), .warn(.noFix, "it is old", "Buy another")]
    doctor.run(GivenFindings(findings: findings))
    expectEqual(parts, [.title("A thing", .source)] + findings.map { .finding($0) })
    expect(doctor.hasNoFailure)
    doctor.finish()
    expectEqual(parts.last, .summary("1 passed, 1 warning, 0 failed", cause: nil))
    doctor.run(
      GivenFindings(findings: [
        .fail(.deviceLost, "the user may not open it: it is locked", "Repair it"),
        .fail(.receiverSilent, "so it is silent", "Repair it"),
      ]))
    expect(!doctor.hasNoFailure)
    doctor.finish()
    expectEqual(
      parts.last, .summary("1 passed, 1 warning, 2 failed", cause: "A thing: the user may not open it: it is locked"))
  }
}
