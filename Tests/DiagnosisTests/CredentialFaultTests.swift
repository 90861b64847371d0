// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import HTTPMessages
import MessageBus
import Testing

@testable import Diagnosis

struct CredentialFaultTests {
  private let directory: TemporaryDirectory
  private static let encrypted = String(repeating: "WhxqhnfrTd+zsWmY9/hQ", count: 8) + "\n"

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func faults(_ plain: [String: String], _ encrypted: [String: String] = [:]) -> [CredentialFault] {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    (status.credentialFiles, status.encryptedFiles) = (plain, encrypted)
    return CredentialFault.all(status)
  }

  @Test("a missing credential file is reported with the credential's name; a relative path is not checked")
  func missing() throws {
    let file = try directory.write("key", to: "key")
    expectEqual(faults(["a": file, "b": "relative"]), [])
    let fault = CredentialFault(kind: .missing, name: "b", file: directory("none"))
    expectEqual(faults(["a": file, "b": directory("none")]), [fault])
    expectEqual(faults([:], ["b": directory("none")]), [fault])
  }

  @Test(
    "a plain file that the unit declares as encrypted is reported",
    arguments: ["Bearer s3cret\n", "s3cret", "eyJh.eyJz.c2ln", ""])
  func plain(_ text: String) throws {
    let file = try directory.write(text, to: "key")
    let found = faults([:], ["key": file])
    expectEqual(found.map(\.kind), [.notEncrypted])
    expectEqual(found.first?.advice("u").contains("systemd-creds encrypt --tpm2-pcrs= --name=key"), true)
  }

  @Test(
    "an encrypted file is reported as undecryptable on this machine, unless another credential is missing")
  func foreign() throws {
    let file = try directory.write(Self.encrypted, to: "key")
    let found = faults([:], ["key": file])
    expectEqual(found.map(\.kind), [.undecryptable])
    expectEqual(
      found.first?.sentence,
      "the credential key cannot be decrypted: \(file) was encrypted on another machine, or for another name, or "
        + "this machine's firmware or Secure Boot settings have changed")
    expectEqual(
      found.first?.advice("u"),
      "Encrypt it on this machine: systemd-creds encrypt --tpm2-pcrs= --name=key PLAIN_FILE \(file)")
    expectEqual(faults(["other": directory("none")], ["key": file]).map(\.kind), [.missing])
  }

  @Test("a file that cannot be read is not reported as undecryptable, nor is a credential that this process was given")
  func unreadable() throws {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    // Even root cannot read a link to itself.
    expectEqual(symlink("loop", directory("loop")), 0)
    status.encryptedFiles = ["key": directory("loop")]
    expectEqual(CredentialFault.all(status), [])
    let file = try directory.write(Self.encrypted, to: "key")
    status.encryptedFiles = ["key": file]
    let seenByRoot = RootObservations(status)
    expectEqual(seenByRoot.faults.map(\.kind), [.undecryptable])
    expectEqual(CredentialFault.known(of: status, nil, isService: false).map(\.kind), [.undecryptable])
    expectEqual(CredentialFault.known(of: status, seenByRoot, isService: true), [])
    status.encryptedFiles["other"] = directory("none")
    expectEqual(CredentialFault.known(of: nil, RootObservations(status), isService: true).map(\.kind), [.missing])
    expectEqual(CredentialFault.known(of: nil, nil, isService: false), [])
  }

  @Test("a plain credential file that every user can read is reported")
  func exposed() throws {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    let file = try directory.write("key", to: "key", mode: 0o644)
    status.credentialFiles = ["a": file, "b": try directory.write("key", to: "other", mode: 0o640)]
    expectEqual(ServiceCredentials.exposed(status), [file])
    let findings = ServiceFindings.findings(
      unit: .success(status), exposed: [file], daemon: .noResponse("silent", advice: "start it"), vehicle: nil,
      heartbeat: .seconds(50))
    expect(findings.contains { $0.severity == .warn && $0.sentence.hasPrefix("\(file) holds a credential") })
  }

  @Test("a changed credential is noticed, plain or encrypted; what was not passed or cannot be decrypted is ignored")
  func changed() throws {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    for name in ["plain", "renewed", "same", "foreign", "relative"] { try directory.write("old", to: name) }
    status.credentialFiles = ["plain": try directory.write("new", to: "plain.txt")]
    let encrypted = ["renewed", "same", "foreign", "unknown"]
    status.encryptedFiles = Dictionary(uniqueKeysWithValues: encrypted.map { ($0, "/etc/\($0).cred") })
    status.encryptedFiles["relative"] = "relative.cred"
    let contents = ["/etc/renewed.cred": "new", "/etc/same.cred": "old", "/etc/unknown.cred": "new"]
    let names = ServiceCredentials.changed(status, since: directory.path) { file, name in
      expectEqual(file, "/etc/\(name).cred")
      return contents[file].map { Secret($0) }
    }
    expectEqual(names, ["plain", "renewed"])
  }

  @Test("if no daemon answers, the reported reason is the missing settings file or the state of the unit")
  func stopped() throws {
    let service = try #require(InstalledService(socket: "/run/fleet-locationd-van/control.sock"))
    expectEqual(service.settings, "/etc/fleet-locationd/van.toml")
    var status = ServiceStatus(unit: service.unit)
    let deleted = StoppedService.explanation(service, status, isSettingsFileMissing: true)
    expectEqual(
      deleted,
      "fleet-locationd@van.service is not started, because its settings file /etc/fleet-locationd/van.toml does not exist\n"
        + "Write it with: sudo fleet-locationctl setup --instance van"
    )
    expectEqual(StoppedService.explanation(service, nil, isSettingsFileMissing: true), deleted)
    expectNil(StoppedService.explanation(service, nil, isSettingsFileMissing: false))
    expectEqual(StoppedService.explanation(service, nil, isSettingsFileMissing: true, ["bus"]), deleted)
    let main = try #require(InstalledService(socket: "/run/fleet-locationd/control.sock"))
    expectEqual(
      StoppedService.explanation(main, nil, isSettingsFileMissing: true, ["bus", "van"])?.hasSuffix(
        "does not exist\nAdd --instance NAME for one of the instances of this machine: bus, van"), true)
    (status.active, status.sub, status.result, status.end) = ("failed", "failed", "exit-code", .exited(78))
    status.text = "Ended: /etc/f.toml:3: wrong"
    let failed = StoppedService.explanation(service, status, isSettingsFileMissing: false)
    expectEqual(failed?.contains("has failed: it ended with exit status 78"), true)
    expectEqual(failed?.contains("/etc/f.toml:3: wrong"), true)
    (status.active, status.sub) = ("active", "running")
    expectEqual(
      StoppedService.explanation(service, status, isSettingsFileMissing: false)?.hasPrefix(
        "fleet-locationd@van.service runs, but nothing listens at /run/fleet-locationd-van/control.sock"), true)
  }
}
