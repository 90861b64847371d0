// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Testing

@MainActor @Suite struct DoctorTests {
  private struct GivenFindings: Check {
    let title = "A thing"
    let findings: [Finding]

    func run(_ report: (Finding) -> Void) {
      for finding in findings { report(finding) }
    }
  }

  @Test("findings are printed at once under their title, with advice on a line of its own, and counted")
  func print() {
    var text = ""
    var doctor = Doctor { text += $0 }
    doctor.run(GivenFindings(findings: [.pass("it is there"), .warn("it is old", "Buy another")]))
    #expect(text == "A thing\n  pass  it is there\n  warn  it is old\n        Buy another\n")
    #expect(doctor.hasNoFailure)
    doctor.run(GivenFindings(findings: [.fail("it is broken", "Repair it")]))
    #expect(!doctor.hasNoFailure)
    #expect(doctor.summary == "1 passed, 1 warnings, 1 failed\n")
  }
}
