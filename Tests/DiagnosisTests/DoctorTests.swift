// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Testing

@MainActor @Suite struct DoctorTests {
  private struct Told: Check {
    let title = "A thing"
    let findings: [Finding]

    func run(_ report: (Finding) -> Void) {
      for finding in findings { report(finding) }
    }
  }

  @Test("findings are printed under their title as they come, advice on a line of its own, and counted")
  func print() {
    var text = ""
    var doctor = Doctor { text += $0 }
    doctor.run(Told(findings: [.pass("it is there"), .warn("it is old", "Buy another")]))
    #expect(text == "A thing\n  pass  it is there\n  warn  it is old\n        Buy another\n")
    #expect(doctor.isContent)
    doctor.run(Told(findings: [.fail("it is broken", "Mend it")]))
    #expect(!doctor.isContent)
    #expect(doctor.summary == "1 passed, 1 to look at, 1 failed\n")
  }
}
