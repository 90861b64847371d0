// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Expectations
import Foundation
import JSON
import Release
import Testing

@testable import ControlTool

struct DoctorReportTests {
  @Test("each finding has its check and its code, and the first failure is the cause")
  func report() throws {
    var report = DoctorReport(remark: "Checked as user admin\n", isDaemonRunning: true)
    report.add(.title("Settings", .settings))
    report.add(.finding(.pass("/etc/x.toml: valid")))
    report.add(.title("Source: serial receiver /dev/gps0", .source))
    report.add(.finding(.warn(.noFix, "no fix", "Wait")))
    report.add(.finding(.fail(.deviceLost, "lost", "Check its plug")))
    report.add(.title("Service", .service))
    report.add(.finding(.fail(.noUpdate, "no update", "Wait")))
    report.add(.summary("1 passed, 1 warning, 2 failed", cause: "lost"))
    expectEqual(
      String(decoding: report.line, as: UTF8.self),
      """
      {"cause":{"check":"source","code":"deviceLost","sentence":"lost"},"checks":[{"check":"settings","findings":\
      [{"code":"ok","sentence":"/etc/x.toml: valid","severity":"pass"}],"title":"Settings"},{"check":"source",\
      "findings":[{"advice":"Wait","code":"noFix","sentence":"no fix","severity":"warn"},{"advice":"Check its plug",\
      "code":"deviceLost","sentence":"lost","severity":"fail"}],"title":"Source: serial receiver /dev/gps0"},\
      {"check":"service","findings":[{"advice":"Wait","code":"noUpdate","sentence":"no update","severity":"fail"}],\
      "title":"Service"}],"failed":2,"isDaemonRunning":true,"isHealthy":false,"passed":1,\
      "remark":"Checked as user admin","version":"\(Release.version)","warnings":1}

      """)
  }

  @Test("docs/doctor.md has every code and every check, and no other code")
  func document() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/doctor.md")
    let page = try String(contentsOf: path, encoding: .utf8)
    let codes = page.components(separatedBy: "## Codes")[1].split(separator: "\n").compactMap { line in
      line.hasPrefix("| `") ? String(line.dropFirst(3).prefix { $0 != "`" }) : nil
    }
    expectEqual(Set(codes).count, codes.count)
    expectEqual(Set(codes), Set(Finding.Code.allCases.map(\.rawValue)))
    for subject in Doctor.Subject.allCases { expect(page.contains("`\(subject.rawValue)`")) }
  }

  @Test("a daemon that does not answer, or may not be asked, counts as one that reads the receiver")
  @MainActor func silentDaemon() {
    let denied = ServiceFindings.DaemonResponse.noResponse("permission denied", advice: "Run this as root")
    expect(DoctorCommand.mayRead(denied, at: "/run/s"))
    expect(!DoctorCommand.mayRead(denied, at: nil))
    expect(!DoctorCommand.mayRead(.noResponse("nothing listens", advice: "x", socket: "/run/s"), at: "/run/s"))
  }
}
