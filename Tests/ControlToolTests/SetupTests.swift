// SPDX-License-Identifier: Apache-2.0
import Configuration
import Diagnosis
import Expectations
import FleetEngine
import HTTPMessages
import Observability
import Testing

@testable import ControlTool

struct SetupAnswersTests {
  private func answers(service: String = "deliveries", source: String = "gpsd") -> SetupAnswers {
    var answers = SetupAnswers()
    for (question, text) in [
      (.source, source), (.service, service), (.provider, "my-project"), (.vehicle, "truck \"17\""),
      (.tokenURL, "https://tokens.example.com/{vehicle_id}"),
    ] as [(SetupAnswers.Question, String)] {
      let mistake = answers.set(question, to: text)
      expectNil(mistake)
    }
    return answers
  }

  @Test("the settings file contains the answers, and the token format of the service's sample backend")
  func text() {
    var answers = answers(service: "trips", source: "/dev/serial/by-id/usb-u-blox-if00")
    answers.hasCredential = true
    let mistake = answers.set(.endpoint, to: "http://127.0.0.1:8700")
    expectNil(mistake)
    expectEqual(
      answers.tomlText,
      """
      # Written by "fleet-locationctl setup". Every setting: man fleet-locationd.toml

      [vehicle]
      provider_id = "my-project"
      vehicle_id = "truck \\"17\\""
      service = "trips"

      [source]
      type = "serial"
      device = "/dev/serial/by-id/usb-u-blox-if00"
      baud = "auto"

      [token]
      url = "https://tokens.example.com/{vehicle_id}"
      response = "rides-stub"
      headers = { Authorization = { credential = "token-provider" } }

      [fleet_engine]
      endpoint = "http://127.0.0.1:8700"

      """)
  }

  @Test(
    "the daemon reads the written settings as they were answered, with any source and service",
    arguments: ["gpsd", "modemmanager", "/dev/ttyUSB0", "/usr/share/demo \"ö\".gpx"], ["deliveries", "trips"])
  func valid(source: String, service: String) throws {
    let text = answers(service: service, source: source).tomlText
    let file = try SettingsFile.load(
      path: "/x.toml",
      environment: ConfigurationEnvironment(
        readFile: { _, _ throws(ConfigurationEnvironment.FileProblem) in Array(text.utf8) }, listDirectory: { _ in [] },
        variable: { _ in nil }, hostname: { nil }))
    expect(file.warnings.isEmpty)
    expect(file.settings.vehicle.vehicleID == "truck \"17\"" && file.settings.vehicle.providerID == "my-project")
    expectEqual(file.settings.vehicle.service.name, service)
    switch (source, file.settings.sources.first?.kind) {
    case ("gpsd", .gpsd?), ("modemmanager", .modemManager?): break
    case (_, .serial(let serial)?): expect(serial.device == source && serial.baud == nil)
    case (_, .simulated(let drive)?): expectEqual(drive.route, source)
    default: Issue.record("\(source)")
    }
  }

  @Test(
    "an invalid answer is rejected with the daemon's own message, and changes nothing",
    arguments: [
      (.source, "ttyUSB0", "is not a source"), (.source, "/tmp/x", "is not a source"), (.service, "taxi", "deliveries"),
      (.provider, "a/b", "contains \"/\""), (.provider, "", "is empty"), (.vehicle, "*", "means every vehicle"),
      (.tokenURL, "http://tokens.example.com/{vehicle_id}", "https"), (.tokenURL, "https://x/{car}", "placeholder"),
      (.tokenURL, "", ""), (.response, "xml", "lmfs"), (.endpoint, "fleetengine", "https"),
    ] as [(SetupAnswers.Question, String, String)])
  func mistakes(question: SetupAnswers.Question, answer: String, says: String) throws {
    var answers = SetupAnswers()
    let refusal = answers.set(question, to: answer)
    let mistake = try #require(refusal)
    expect(mistake.contains(says), "\(mistake)")
    expectEqual(answers, SetupAnswers())
  }

  @Test("missing answers are asked for in order; the token format and the endpoint have defaults")
  func open() {
    var answers = SetupAnswers()
    expectEqual(answers.unanswered, [.source, .service, .provider, .vehicle, .tokenURL])
    let mistake = answers.set(.provider, to: "p")
    expectNil(mistake)
    expectEqual(answers.unanswered, [.source, .service, .vehicle, .tokenURL])
    expect(self.answers().unanswered.isEmpty)
  }
}

struct SetupPlanTests {
  private let noFiles = { (_: String) -> [String] in [] }

  private var answers: SetupAnswers {
    var answers = SetupAnswers()
    answers.source = .gpsd
    (answers.service, answers.provider, answers.vehicle) = ("deliveries", "p", "v")
    answers.tokenURL = "https://t/{vehicle_id}"
    return answers
  }

  @Test("a plain credential is written to a file for root only, and the unit names that file")
  func plain() {
    let plan = SetupPlan(answers, credential: .plain(Secret("Bearer hush")), instance: nil)
    var withCredential = answers
    withCredential.hasCredential = true
    expectEqual(plan.unit, "fleet-locationd.service")
    expectEqual(
      plan.files,
      [
        .init(
          path: "/etc/fleet-locationd/token-provider", mode: 0o600, content: Array("Bearer hush".utf8), isSecret: true),
        .init(
          path: "/etc/systemd/system/fleet-locationd.service.d/credential.conf", mode: 0o644,
          content: Array(
            "[Service]\nLoadCredential=token-provider:/etc/fleet-locationd/token-provider\n".utf8)),
        .init(
          path: "/etc/fleet-locationd/fleet-locationd.toml", mode: 0o644, content: Array(withCredential.tomlText.utf8)),
      ])
  }

  @Test("an instance has its own files, and its unit loads an encrypted credential with LoadCredentialEncrypted=")
  func instance() {
    let plan = SetupPlan(answers, credential: .encrypted(Array("sealed".utf8)), instance: "van")
    expectEqual(plan.unit, "fleet-locationd@van.service")
    expectEqual(
      plan.files.map(\.path),
      [
        "/etc/fleet-locationd/van.token-provider.cred",
        "/etc/systemd/system/fleet-locationd@van.service.d/credential.conf",
        "/etc/fleet-locationd/van.toml",
      ])
    expectEqual(
      String(decoding: plan.files[1].content, as: UTF8.self),
      "[Service]\nLoadCredentialEncrypted=token-provider:/etc/fleet-locationd/van.token-provider.cred\n")
  }

  @Test(
    "without a credential, only the settings file is written; an existing credential is named and left unchanged")
  func others() {
    let none = SetupPlan(answers, credential: .none, instance: nil)
    expectEqual(none.files.map(\.path), ["/etc/fleet-locationd/fleet-locationd.toml"])
    expect(!String(decoding: none.files[0].content, as: UTF8.self).contains("headers"))
    let kept = SetupPlan(answers, credential: .existing(isEncrypted: true), instance: nil)
    expectEqual(kept.files.map(\.isSecret), [false, false])
    expect(
      String(decoding: kept.files[0].content, as: UTF8.self).contains(
        "LoadCredentialEncrypted=token-provider:/etc/fleet-locationd/token-provider.cred\n"))
    expect(String(decoding: kept.files[1].content, as: UTF8.self).contains("credential = \"token-provider\""))
  }

  @Test(
    "without a credential, the drop-in that passes one is renamed after the settings are written; any other is kept",
    arguments: [
      ("[Service]\nLoadCredential=token-provider:/etc/fleet-locationd/token-provider\n", true),
      ("# x\n[Service]\nLoadCredentialEncrypted=token-provider:/etc/fleet-locationd/token-provider.cred\n", true),
      ("[Service]\nLoadCredential=vehicle-id:/etc/vehicle-id\n", false), ("", false),
    ])
  func drop(dropIn: String, isRemoved: Bool) {
    let path = "/etc/systemd/system/fleet-locationd@van.service.d/credential.conf"
    let existing = { (file: String) in file == path ? Array(dropIn.utf8) : nil }
    let plan = SetupPlan(answers, credential: .none, instance: "van")
    let changes = plan.changes(at: "20261121T083000Z", names: noFiles, existing: existing)
    let removed = SetupPlan.Change.removed(path, backup: "\(path).20261121T083000Z")
    expectEqual(changes, [.created(plan.files[0])] + (isRemoved ? [removed] : []))
    expectEqual(plan.text(changes).contains("# \(path), not used, is kept as \(path).20261121T083000Z\n"), isRemoved)
    // With a credential, the drop-in is a file of the plan.
    let kept = SetupPlan(answers, credential: .existing(isEncrypted: false), instance: "van")
    expect(!kept.changes(at: "20261121T083000Z", names: noFiles, existing: existing).contains(removed))
  }

  @Test("a new credential leaves no usable copy of the previous one, encrypted or not")
  func otherForm() {
    let (plain, encrypted) = ("/etc/fleet-locationd/token-provider", "/etc/fleet-locationd/token-provider.cred")
    func last(_ credential: SetupPlan.Credential, existing: [String]) -> SetupPlan.Change? {
      let plan = SetupPlan(answers, credential: credential, instance: nil)
      return plan.changes(at: "20261121T083000Z", names: noFiles) { existing.contains($0) ? [1] : nil }.last
    }
    let settings = SetupPlan(answers, credential: .encrypted([2]), instance: nil).files[2]
    expectEqual(last(.encrypted([2]), existing: [plain]), .deleted(plain))
    expectEqual(
      last(.plain(Secret("Bearer hush")), existing: [encrypted]),
      .removed(encrypted, backup: "\(encrypted).20261121T083000Z"))
    expectEqual(last(.encrypted([2]), existing: [encrypted]), .created(settings))
    expectEqual(last(.existing(isEncrypted: true), existing: [plain, encrypted]), .created(settings))
    expectEqual(
      SetupPlan(answers, credential: .none, instance: nil).text([.deleted(plain)]),
      "# \(plain), with the previous credential, is deleted\n\n")
  }

  @Test(
    "the previous credential is not deleted while a drop-in passes its file: of systemctl edit, or of another unit",
    arguments: [
      ("fleet-locationd.service.d/override.conf", false), ("fleet-locationd@van.service.d/credential.conf", false),
      ("fleet-locationd@.service.d/a.conf", false), ("fleet-locationd.service.d/credential.conf", true),
      ("fleet-locationd@van.service.d/old.conf.bak", true), ("gpsd.service.d/credential.conf", true),
    ])
  func passedElsewhere(dropIn: String, isDeleted: Bool) {
    let plain = "/etc/fleet-locationd/token-provider"
    let parts = dropIn.split(separator: "/").map(String.init)
    let plan = SetupPlan(answers, credential: .encrypted([2]), instance: nil)
    let changes = plan.changes(
      at: "20261121T083000Z",
      names: { directory in
        switch directory {
        case "/etc/systemd/system": ["multi-user.target.wants", parts[0]]
        case "/etc/systemd/system/\(parts[0])": [parts[1]]
        default: []
        }
      },
      existing: { path in
        if path == plain { return [1] }
        return path == "/etc/systemd/system/\(dropIn)" ? Array("[Service]\nLoadCredential=x:\(plain)\n".utf8) : nil
      })
    expectEqual(changes.contains(.deleted(plain)), isDeleted)
  }

  @Test("nor is that of an instance while a drop-in of the template passes it, with %i for the instance's name")
  func passedByTemplate() {
    let plain = "/etc/fleet-locationd/van.token-provider"
    let directory = "fleet-locationd@.service.d"
    func isDeleted(passed: String) -> Bool {
      SetupPlan(answers, credential: .encrypted([2]), instance: "van").changes(
        at: "20261121T083000Z",
        names: { $0.hasSuffix("/system") ? [directory] : $0.hasSuffix(directory) ? ["a.conf"] : [] },
        existing: { path in
          if path == plain { return [1] }
          return path.hasSuffix("/a.conf") ? Array("[Service]\nLoadCredential=x:\(passed)\n".utf8) : nil
        }
      ).contains(.deleted(plain))
    }
    expect(!isDeleted(passed: "/etc/fleet-locationd/%i.token-provider"))
    expect(isDeleted(passed: "/etc/fleet-locationd/%i.other"))
  }

  @Test(
    "if a later drop-in passes another credential, setup names the file and the line, because the service would get it",
    arguments: [
      ("override.conf", "LoadCredential=token-provider:/etc/fleet-locationd/token-provider", true),
      ("override.conf", "LoadCredentialEncrypted=token-provider:/etc/fleet-locationd/token-provider.cred", false),
      ("override.conf", "LoadCredential=vehicle-id:/etc/vehicle-id", false),
      ("a.conf", "LoadCredential=token-provider:/etc/fleet-locationd/token-provider", false),
      ("override.conf.old", "LoadCredential=token-provider:/etc/fleet-locationd/token-provider", false),
    ])
  func overridden(name: String, line: String, isObstacle: Bool) {
    let directory = "/etc/systemd/system/fleet-locationd.service.d"
    func obstacle(_ credential: SetupPlan.Credential) -> String? {
      SetupPlan(answers, credential: credential, instance: nil).obstacle(
        names: { $0 == directory ? [name, "credential.conf"] : [] },
        content: { $0 == "\(directory)/\(name)" ? Array("[Service]\n\(line)\n".utf8) : nil })
    }
    let found = obstacle(.encrypted([2]))
    expectEqual(found != nil, isObstacle)
    if let found { expect(found.contains("\(directory)/\(name)") && found.contains(line), "\(found)") }
    expectNil(obstacle(.none))
  }

  @Test(
    "nor may a later drop-in of the template pass another one to an instance, unless the instance has one of that name",
    arguments: [
      (["fleet-locationd@.service.d/override.conf"], "LoadCredential=token-provider:/etc/shared", true),
      (
        ["fleet-locationd@.service.d/override.conf", "fleet-locationd@van.service.d/override.conf"],
        "LoadCredential=token-provider:/etc/shared", false
      ),
      (
        ["fleet-locationd@.service.d/override.conf"],
        "LoadCredentialEncrypted=token-provider:/etc/fleet-locationd/%i.token-provider.cred", false
      ),
      (["fleet-locationd@.service.d/a.conf"], "LoadCredential=token-provider:/etc/shared", false),
      (["fleet-locationd.service.d/override.conf"], "LoadCredential=token-provider:/etc/shared", false),
    ])
  func overriddenByTemplate(dropIns: [String], line: String, isObstacle: Bool) {
    let units = "/etc/systemd/system"
    let found = SetupPlan(answers, credential: .encrypted([2]), instance: "van").obstacle(
      names: { directory in
        dropIns.map { $0.split(separator: "/").map(String.init) }.filter { "\(units)/\($0[0])" == directory }.map {
          $0[1]
        }
      },
      // That of the instance passes nothing.
      content: { $0 == "\(units)/\(dropIns[0])" ? Array("[Service]\n\(line)\n".utf8) : [] })
    expectEqual(found != nil, isObstacle)
    if let found { expect(found.contains("\(units)/\(dropIns[0])") && found.contains(line), "\(found)") }
  }

  @Test(
    "the existing credential is the one that the service gets, or else the one that exists",
    arguments: [
      ("LoadCredential", [true, false], false), ("LoadCredentialEncrypted", [true, false], true),
      ("LoadCredential", [true], true), ("LoadCredentialEncrypted", [false], false), ("#", [true, false], true),
      ("LoadCredential", [], nil),
      ("LoadCredentialEncrypted=token-provider:/x\nLoadCredential", [true, false], false),
    ] as [(String, [Bool], Bool?)])
  func existing(directive: String, forms: [Bool], isEncrypted: Bool?) {
    let files = forms.map { SetupPlan.credentialPath("van", isEncrypted: $0) }
    let found = SetupPlan.isExistingEncrypted(
      "van",
      content: { path in
        path == "/etc/systemd/system/fleet-locationd@van.service.d/credential.conf"
          ? Array("[Service]\n\(directive)=token-provider:/x\n".utf8) : nil
      }, exists: { files.contains($0) })
    expectEqual(found, isEncrypted)
  }

  @Test("an existing file is preserved beside the new one, and an unchanged file is not touched")
  func changes() {
    let plan = SetupPlan(answers, credential: .plain(Secret("Bearer hush")), instance: nil)
    let changes = plan.changes(at: "20261121T083000Z", names: noFiles) { path in
      path.hasSuffix(".conf") ? plan.files[1].content : path.hasSuffix(".toml") ? [1] : nil
    }
    expectEqual(
      changes,
      [
        .created(plan.files[0]), .unchanged(plan.files[1]),
        .replaced(plan.files[2], backup: "/etc/fleet-locationd/fleet-locationd.toml.20261121T083000Z"),
      ])
    let text = plan.text(changes)
    expect(text.hasPrefix("# /etc/fleet-locationd/token-provider, mode 0600, new\n(secret)\n\n# /etc/systemd"))
    expect(text.contains("mode 0644, as it is\n[Service]\n"))
    expect(
      text.contains("the old one is kept as /etc/fleet-locationd/fleet-locationd.toml.20261121T083000Z\n# Written"))
    expect(!text.contains("hush"))
  }

  @Test("text that cannot be a header is rejected as a credential, and is not repeated")
  func credentials() {
    expectNil(SetupPlan.problem(ofCredential: "Bearer a-b_c.d="))
    for text in [
      "", "hush\nhush", "hüsh", "hush\u{7F}", String(repeating: "x", count: SetupPlan.maxCredentialSize + 1),
    ] {
      let problem = SetupPlan.problem(ofCredential: text)
      expect(problem != nil && problem?.contains("hush") == false)
    }
  }
}

struct SetupSourcesTests {
  private let sources = SetupSources(found: [
    .init(
      kind: .serial("/dev/ttyUSB2"),
      findings: [.fail(.deviceInUse, "ModemManager (process 4) has it open", "Ignore it")]),
    .init(kind: .serial("/dev/serial/by-id/a"), findings: [.pass("18 sentences"), .warn(.noFix, "no fix", "Wait")]),
    .init(kind: .gpsd, findings: [.pass("gpsd 3.22")]),
  ])

  @Test("usable sources have a number; for the others, the list says why they cannot be used")
  func text() {
    expectEqual(
      sources.text,
      """
      Found:
        -  /dev/ttyUSB2
             ModemManager (process 4) has it open. Ignore it
        1  /dev/serial/by-id/a
             18 sentences
             no fix. Wait
        2  gpsd
             gpsd 3.22

      """)
    expectEqual(SetupSources(found: []).text, "No receiver was found: no serial port, no gpsd, no modem.\n")
  }

  @Test("the name of another user's process cannot control the terminal")
  func controlCharacters() {
    let finding = Finding.fail(.deviceInUse, "\u{1B}[2J (process 4) has it open", "Ignore\u{9B}1m it")
    let text = SetupSources(found: [.init(kind: .gpsd, findings: [finding])]).text
    expect(text.hasSuffix("       \u{FFFD}[2J (process 4) has it open. Ignore\u{FFFD}1m it\n"), "\(text)")
  }

  @Test("a number selects its source; the default is the first source without a warning, or else the first usable one")
  func choice() {
    expect(sources.answer(for: "1") == "/dev/serial/by-id/a" && sources.answer(for: "2") == "gpsd")
    for text in ["0", "3", "-1", "/dev/x", ""] { expectEqual(sources.answer(for: text), text) }
    expect(sources.defaultAnswer == "gpsd" && sources.onlyAnswer == nil)
    let one = SetupSources(found: Array(sources.found.prefix(2)))
    expect(one.defaultAnswer == "/dev/serial/by-id/a" && one.onlyAnswer == "/dev/serial/by-id/a")
    expectNil(SetupSources(found: Array(sources.found.prefix(1))).defaultAnswer)
  }
}
