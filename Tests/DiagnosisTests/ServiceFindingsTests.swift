// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import Foundation
import MessageBus
import Observability
import Release
import SystemCalls
import Testing
import Timekeeping

@testable import Diagnosis

/// The findings of `doctor` about the service. While no update is accepted, not all of them pass, except during
/// a pause.
struct ServiceFindingsTests {
  private static let unit = "fleet-locationd.service"
  private static let heartbeat = Duration.seconds(60)

  static func status(_ changes: [String: Any] = [:]) throws -> StatusReport {
    var answer: [String: Any] = [
      "summary": "Online; fix 3D, ±2 m, 11 satellites, 0 s old", "vehicle": "truck-17", "version": Release.version,
      "uptime": 11_000, "heartbeat": 60, "isOnline": true, "isPaused": false, "source": "/dev/gps0 at 9600 baud",
      "lastUpdate": 3, "state": ["cause": "notDue", "label": "online", "detail": "", "level": "good"],
      "backlog": ["count": 0, "store": "disk", "removed": [:] as [String: Int]],
      "explanation": ["reason": "delivered", "sentence": "The last fix was accepted."],
      "counters": [:] as [String: Int],
    ]
    answer.merge(changes) { $1 }
    answer = answer.filter { !($0.value is NSNull) }
    return try JSONDecoder().decode(StatusReport.self, from: try JSONSerialization.data(withJSONObject: answer))
  }

  static func running(_ change: (inout ServiceStatus) -> Void = { _ in }) -> ServiceStatus {
    var status = ServiceStatus(unit: unit)
    (status.active, status.sub) = ("active", "running")
    change(&status)
    return status
  }

  /// A unit that systemd restarts again and again.
  static func looping(_ end: ServiceStatus.End, _ text: String = "") -> ServiceStatus {
    running { status in
      (status.active, status.sub, status.result, status.restarts) = ("activating", "auto-restart", "exit-code", 216)
      (status.end, status.text) = (end, text)
    }
  }

  static func findings(
    _ unit: Result<ServiceStatus, MessageBusError>?, _ daemon: ServiceFindings.DaemonResponse,
    vehicle: String? = "truck-17"
  ) -> [Finding] {
    ServiceFindings.findings(unit: unit, daemon: daemon, vehicle: vehicle, heartbeat: heartbeat)
  }

  static let silent = ServiceFindings.DaemonResponse.noResponse(
    "the daemon is not running (no process listens at /run/fleet-locationd/control.sock)", advice: "Start it",
    socket: "/run/fleet-locationd/control.sock")

  // MARK: - No problem

  @Test("a service passes if its last update was accepted at most two heartbeats ago", arguments: [0, 60, 120])
  func well(age: Int) throws {
    let findings = Self.findings(.success(Self.running()), .status(try Self.status(["lastUpdate": age])))
    expectEqual(
      findings,
      [
        .pass("fleet-locationd.service runs"),
        .pass("Fleet Engine accepted an update \(age == 120 ? "2 min" : "\(age) s") ago"),
      ])
  }

  @Test("updates that repeat an earlier position are a warning, which does not make the service unhealthy")
  func withoutFix() throws {
    for (cause, withoutFix) in [("noFix", 10_800 as Any), ("implausible", 10_800), ("held", NSNull())] {
      let state = [
        "cause": cause, "label": "waiting for a fix", "detail": " for 3 h, 0 satellites in view", "level": "warning",
        "advice": "The antenna needs a view of the sky",
      ]
      let report = try Self.status(["state": state, "withoutFix": withoutFix])
      expectEqual(
        Self.findings(.success(Self.running()), .status(report)).dropFirst().map(\.self),
        [
          .pass("Fleet Engine accepted an update 3 s ago"),
          .warn(
            .noFix, "but with an earlier position: waiting for a fix for 3 h, 0 satellites in view",
            "The antenna needs a view of the sky"),
        ])
      expect(ServiceFindings.health(report).isHealthy)
    }
  }

  @Test("a source that cannot be used is a warning, although another one is used; one in reserve is none")
  func unusableSource() throws {
    func source(_ name: String, _ condition: String, _ explanation: String) -> [String: Any] {
      ["name": name, "condition": condition, "isUsed": condition == "good", "explanation": explanation]
    }
    func warnings(_ sources: [[String: Any]], _ changes: [String: Any] = [:]) throws -> [String] {
      let report = try Self.status(["sources": sources].merging(changes) { $1 })
      return Self.findings(nil, .status(report)).filter { $0.code == .sourceUnusable }.map(\.sentence)
    }
    let used = source("gpsd at [::1]:2947", "good", "used")
    for (condition, isWarning) in [("lost", true), ("searching", true), ("waiting", false)] {
      let other = source("/dev/gps0", condition, "/dev/gps0: there is no such device")
      let why = "/dev/gps0: there is no such device"
      try expectEqual(
        warnings([other, used]),
        isWarning ? ["gpsd at [::1]:2947 is used, and not one of higher priority: \(why)"] : [])
      try expectEqual(
        warnings([used, other]), isWarning ? ["gpsd at [::1]:2947 is used, and one in reserve cannot be: \(why)"] : [])
      // A pause may close them, and at a start the others may still be opening.
      for change in [["isPaused": true], ["uptime": 59]] as [[String: Any]] {
        try expectEqual(warnings([other, used], change), [])
      }
    }
    var reserve = source("/dev/gps0", "good", "good, in reserve")
    reserve["isUsed"] = false
    try expectEqual(warnings([used, reserve]), [])
  }

  @Test("a service fails if its last update was accepted more than two of the daemon's heartbeats ago")
  func stale() throws {
    for (age, heartbeat, isWell) in [(121, 60, false), (121, 90, true), (21, 10, false)] {
      let report = try Self.status(["lastUpdate": age, "heartbeat": heartbeat])
      let findings = Self.findings(.success(Self.running()), .status(report))
      expectEqual(!findings.contains { $0.severity == .fail }, isWell)
    }
    // An earlier release does not report its heartbeat.
    let report = try Self.status(["lastUpdate": 121, "heartbeat": NSNull()])
    expect(Self.findings(nil, .status(report)).contains { $0.severity == .fail })
  }

  @Test("a vehicle that is paused by command passes, with a finding about the pause")
  func paused() throws {
    let report = try Self.status([
      "isPaused": true, "pausedSince": "2026-12-01T08:00:00Z", "isOnline": false, "lastUpdate": 90_000,
    ])
    expectEqual(
      Self.findings(.success(Self.running()), .status(report)).last,
      .pass(
        "paused by command since 2026-12-01T08:00:00Z: no position is sent until fleet-locationctl resume"
      ))
    expect(!Self.findings(nil, .status(report)).contains { $0.severity == .fail })
    let unread = try Self.status(["isPaused": true, "isOnline": false, "sourceTrouble": "not read while paused"])
    expectEqual(
      Self.findings(.success(Self.running()), .status(unread)).last,
      .pass(
        "paused by command: no position is sent until fleet-locationctl resume; the receiver is not read while paused"
      ))
  }

  @Test("until its OFFLINE is accepted, a pause causes a warning with the reason")
  func offlinePending() throws {
    let report = try Self.status([
      "isPaused": true, "isOnline": false,
      "state": [
        "cause": "offlinePending", "label": "paused", "detail": "; OFFLINE not accepted yet: no network for 4 min",
        "level": "warning", "advice": "OFFLINE is repeated until it is accepted",
      ],
    ])
    let finding = try #require(Self.findings(.success(Self.running()), .status(report)).last)
    expect(finding.severity == .warn && finding.sentence.hasSuffix("OFFLINE not accepted yet: no network for 4 min"))
  }

  @Test("an off-duty vehicle passes with a finding about it, and causes a warning until OFFLINE is accepted")
  func offDuty() throws {
    let off: [String: Any] = ["duty": "OFFLINE", "offDutySince": "2026-12-01T08:00:00Z"]
    let accepted = try Self.status(off.merging(["isOfflinePending": false]) { $1 })
    expect(
      Self.findings(.success(Self.running()), .status(accepted)).contains(
        .pass("off duty by command since 2026-12-01T08:00:00Z: the vehicle is OFFLINE until fleet-locationctl online")))
    let pending = try Self.status(off.merging(["isOfflinePending": true]) { $1 })
    expect(Self.findings(.success(Self.running()), .status(pending)).contains { $0.severity == .warn })
  }

  @Test("a pause or duty command that could not be read or stored fails", arguments: ["pauseTrouble", "dutyTrouble"])
  func driverTrouble(key: String) throws {
    let report = try Self.status([key: "/var/lib/fleet-locationd/x: cannot be read"])
    let finding = Self.findings(.success(Self.running()), .status(report)).first { $0.severity == .fail }
    expectEqual(finding?.sentence, "/var/lib/fleet-locationd/x: cannot be read")
  }

  @Test("the command for the journal of a service that has ended names the journal's namespace, if it has one")
  func journalNamespace() {
    for (namespace, command) in [("", "journalctl -u"), ("fleet", "journalctl --namespace=+fleet -u")] {
      for (code, says) in [(1, "has the reason"), (69, "says which"), (71, "says what"), (243, "says why")] {
        var status = Self.looping(.exited(code))
        status.journalNamespace = namespace
        expectEqual(ServiceEnd(status).advice.hasPrefix("\(command) fleet-locationd.service -n 20 \(says)"), true)
      }
      let restarted = Self.running { ($0.restarts, $0.journalNamespace) = (2, namespace) }
      expect(
        Self.findings(.success(restarted), Self.silent).contains {
          $0.advice == "\(command) fleet-locationd.service -p warning has the reasons"
        })
    }
  }

  @Test("the advice for a service that the kernel may have killed names the unit's limit and the machine's memory")
  func memory() {
    let kills: [(String, ServiceStatus.End)] = [("oom-kill", .killed(signal: 15)), ("signal", .killed(signal: 9))]
    for (result, end) in kills {
      let advice = ServiceEnd(Self.running { ($0.result, $0.end) = (result, end) }).advice
      expect(advice.contains("(MemoryMax=: systemctl edit \(Self.unit))") && advice.contains("free -m"), "\(advice)")
    }
  }

  @Test("a vehicle in use by another process fails, even after a recent update or during a pause")
  func vehicleInUse() throws {
    let state = [
      "cause": "vehicleInUse", "label": "vehicle in use", "level": "bad",
      "detail": " by fleet-locationd@van.service (process 812) on this machine, so nothing is sent",
    ]
    for isPaused in [false, true] {
      let report = try Self.status(["isPaused": isPaused, "isOnline": false, "state": state])
      let finding = try #require(Self.findings(.success(Self.running()), .status(report)).last)
      expectEqual(finding.severity, .fail)
      expect(finding.sentence.hasPrefix("vehicle in use by fleet-locationd@van.service (process 812)"))
      expect(!ServiceFindings.health(report).isHealthy)
    }
  }

  // MARK: - Problems seen in the field

  /// A mistake, and its effect on the service.
  struct Row: CustomTestStringConvertible, Sendable {
    var mistake: String
    /// Text that one failed finding must contain.
    var words: [String]
    var unit = running()
    /// The response of the daemon; nil if no daemon answers.
    var report: StatusReport?
    var testDescription: String { mistake }

    /// The daemon runs, but this cause prevents updates.
    static func lives(_ mistake: String, _ cause: String, _ label: String, _ detail: String, _ words: String...) -> Row
    {
      Row(
        mistake: mistake, words: words,
        report: try? status([
          "isOnline": false, "lastUpdate": NSNull(), "uptime": 300, "summary": "\(label)\(detail); backlog 0",
          "state": ["cause": cause, "label": label, "detail": detail, "level": "bad"],
        ]))
    }

    /// The unit does not run.
    static func unit(_ mistake: String, _ unit: ServiceStatus, _ words: String...) -> Row {
      Row(mistake: mistake, words: words, unit: unit)
    }

    /// The daemon exits with 78 at each start.
    static func rejected(_ mistake: String, _ text: String) -> Row {
      .unit(mistake, looping(.exited(78), "Ended: \(text)"), "restart loop", "216 restarts", "exit status 78", text)
    }
  }

  static let receivers: [Row] = [
    .lives(
      "wrong device path", "noSource", "no source", ": /dev/gps0: there is no such device", "there is no such device"),
    .lives("device is a plain file", "noSource", "no source", ": /dev/gps0: this is not a device", "not a device"),
    .lives("device root:root 0600", "noSource", "no source", ": /dev/gps0: permission denied", "permission denied"),
    .lives(
      "wrong baud", "noSource", "no source",
      ": /dev/gps0 sends bytes but no complete NMEA sentence for 10 s; check source.baud",
      "no complete NMEA sentence", "source.baud"),
    .lives(
      "UBX mode", "noSource", "no source", ": /dev/gps0 speaks u-blox's binary protocol and not NMEA 0183 for 10 s",
      "u-blox's binary protocol"),
    .lives(
      "baud = auto, noise", "noSource", "no source",
      ": /dev/gps0 sends bytes but no complete NMEA sentence at any baud rate",
      "at any baud rate"),
    .lives(
      "receiver silent", "noSource", "no source",
      ": /dev/gps0 is open but silent for 10 s; check the receiver and its power",
      "silent for 10 s"),
    .lives(
      "no sky from the start", "noFix", "waiting for a fix", " for 5 min, 3 satellites in view",
      "waiting for a fix for 5 min",
      "3 satellites in view"),
    .lives("port held by cat", "noSource", "no source", ": another program has this device", "another program"),
    .lives("socat pty", "noSource", "no source", ": another program has this device", "another program"),
    .lives("gpsd not running", "noSource", "no source", ": localhost:2947: Connection refused", "Connection refused"),
  ]

  static let secrets: [Row] = [
    .rejected("header file 0644", "/etc/h: users other than its owner have access (mode 0644)"),
    .rejected("header file 0600 root", "/etc/h: permission denied; the user of the service must own the file"),
    .unit(
      "LoadCredential's file missing", looping(.exited(243)), "restart loop", "243/CREDENTIALS", "cannot be read"),
    .rejected("credential name mistyped in TOML", "credential token-provder: there is no such file"),
    .lives(
      "credential without Bearer", "noToken", "no token",
      ": the token provider answered HTTP 401; check token.headers",
      "HTTP 401"),
    .rejected("secret in the TOML", "token.headers.Authorization: a secret does not belong here"),
    .lives("provider=file missing", "noToken", "no token", ": the token file /run/t is not there", "/run/t"),
    .lives(
      "token command under /root", "noToken", "no token", ": the token command /root/t: Permission denied", "/root/t"),
  ]

  static let settings: [Row] = [
    .rejected("typo in key", "fleet-locationd.toml:7:1: source.sped: is not a setting"),
    .rejected("interval = 10", "reporting.interval: expected a duration"),
    .rejected("missing quotes", "fleet-locationd.toml:3:1: the value of `type` needs quotes"),
    .rejected("empty file", "fleet-locationd.toml: is empty"),
    .rejected("settings 0600 root", "fleet-locationd.toml: permission denied"),
    .rejected("ca_file 0600 root", "fleet_engine.ca_file: permission denied"),
    .rejected("ca_file missing", "fleet_engine.ca_file: there is no such file"),
    .rejected("provider_id with a slash", "vehicle.provider_id: may not hold a slash"),
    .rejected(
      "backlog.directory outside", "backlog.directory: must be a directory that the service's user may write to"),
    .rejected("vehicle_id = { environment }, not set", "vehicle.vehicle_id: the environment has no VEHICLE_ID"),
    .rejected("vehicle_id = { credential }, not passed", "vehicle.vehicle_id: systemd has passed none"),
    .rejected("conf.d typo", "conf.d/a.toml:1:1: is not a setting"),
  ]

  static let servers: [Row] = [
    .lives(
      "wrong or private CA", "untrusted", "offline", " for 5 min (untrusted): the certificate is not trusted",
      "not trusted"),
    .lives(
      "wrong provider_id", "denied", "offline", " for 5 min (denied): PERMISSION_DENIED; check vehicle.provider_id",
      "vehicle.provider_id"),
    .lives(
      "signature of another key", "unauthenticated", "offline", " for 5 min (unauthenticated): the token's signature",
      "signature"),
    .lives("token for another vehicle", "noToken", "no token", ": the token is for vehicle van-2", "van-2"),
    .lives("token endpoint 404", "noToken", "no token", ": the token provider answered HTTP 404", "HTTP 404"),
    .lives(
      "token endpoint 302", "noToken", "no token",
      ": the token provider answered HTTP 302, a redirect to portal.example; a captive portal answers instead",
      "redirect"),
    .lives("token endpoint HTML", "noToken", "no token", ": the token provider gave a web page", "web page"),
    .lives(
      "token endpoint, other keys", "noToken", "no token", ": gave nothing at `token`; check token.token_key",
      "token_key"),
    .lives("token endpoint 500", "noToken", "no token", ": the token provider answered HTTP 500", "HTTP 500"),
    .lives(
      "bare JWT", "noToken", "no token", ": what the token provider gave is not a JSON object", "not a JSON object"),
    .lives("expiration in s where ms", "noToken", "no token", ": is in seconds, and epoch-ms is set", "in seconds"),
    .lives("token endpoint slow", "noToken", "no token", ": the token provider did not answer in 15 s", "15 s"),
    .lives(
      "DNS failure", "network", "offline", " for 5 min (network): fleetengine.googleapis.com: no such name",
      "no such name"),
    .lives("no network", "noNetwork", "no network", " for 5 min", "no network for 5 min"),
    .lives(
      "vehicle not created", "missing", "offline", " for 5 min (missing): NOT_FOUND; create the vehicle in the backend",
      "create the vehicle"),
  ]

  static let units: [Row] = [
    .unit(
      "no settings yet",
      running {
        ($0.active, $0.sub, $0.isConditionMet) = ("inactive", "dead", false)
      }, "was not started", "settings file did not exist", "another condition of the unit"),
    .unit(
      "a program of ExecCondition= does not permit the start",
      running {
        ($0.active, $0.sub, $0.result) = ("inactive", "dead", "exec-condition")
      }, "was not started", "another condition of the unit"),
    .unit(
      "a program of ExecStartPre= fails",
      running {
        ($0.active, $0.sub, $0.result) = ("failed", "failed", "exit-code")
      }, "ended with a failed command of the unit"),
    .unit(
      "the first watchdog timeout",
      running {
        ($0.active, $0.sub, $0.result, $0.end) = ("activating", "auto-restart", "watchdog", .killed(signal: 6))
      }, "is about to be restarted: its last run ended with a watchdog timeout"),
    .unit("not started", ServiceStatus(unit: unit), "is not running (inactive)"),
    .unit("not installed", running { $0.load = "not-found" }, "systemd has no unit fleet-locationd.service"),
    .unit("masked", running { ($0.load, $0.active, $0.sub) = ("masked", "inactive", "dead") }, "is masked"),
    .unit(
      "a line of the unit is wrong", running { ($0.load, $0.active, $0.sub) = ("bad-setting", "inactive", "dead") },
      "bad-setting"),
    .unit(
      "a mistake in the settings, not started again",
      running {
        ($0.active, $0.sub, $0.result, $0.end) = ("failed", "failed", "exit-code", .exited(78))
        $0.text = "Ended: fleet-locationd.toml:7:1: source.sped: is not a setting"
      }, "has failed", "exit status 78", "source.sped"),
    .unit("read-only /var/lib", looping(.exited(238)), "restart loop", "238/STATE_DIRECTORY"),
    .unit("no such user", looping(.exited(217)), "217/USER"),
    .unit("no program", looping(.exited(203)), "203/EXEC"),
    .unit("ReadWritePaths of a directory that is not there", looping(.exited(226)), "226/NAMESPACE"),
    .unit("crash", looping(.killed(signal: 11)), "restart loop", "signal 11"),
    .unit("stuck", running { ($0.active, $0.sub, $0.result) = ("failed", "failed", "watchdog") }, "watchdog"),
    .unit("memory", running { ($0.active, $0.sub, $0.result) = ("failed", "failed", "oom-kill") }, "memory"),
    .unit("starting", running { ($0.active, $0.sub) = ("activating", "start") }, "is starting"),
    .unit("stopping", running { ($0.active, $0.sub) = ("deactivating", "stop-sigterm") }, "is being stopped"),
    .unit(
      "the runtime directory deleted", running(),
      "fleet-locationd.service runs, but nothing listens at /run/fleet-locationd/control.sock", "deleted"),
  ]

  @Test(
    "every known mistake causes a failed finding with advice",
    arguments: receivers + secrets + settings + servers + units)
  func mistake(row: Row) {
    let findings = Self.findings(.success(row.unit), row.report.map { .status($0) } ?? Self.silent)
    let failed = findings.filter { $0.severity == .fail }
    expect(failed.contains { finding in row.words.allSatisfy(finding.sentence.contains) }, "\(failed)")
    expect(failed.allSatisfy { $0.advice?.isEmpty == false })
  }

  @Test("a daemon that does not answer causes no additional finding if the state of the unit explains it")
  func consequence() {
    let failed = Self.running { ($0.active, $0.sub, $0.end) = ("failed", "failed", .exited(78)) }
    expectEqual(Self.findings(.success(failed), Self.silent).count, 1)
    expectEqual(Self.findings(.success(failed), .noResponse("no permission", advice: "Be root")).count, 1)
    let denied = Self.findings(.success(Self.running()), .noResponse("no permission", advice: "Be root"))
    expectEqual(denied.map(\.sentence), ["fleet-locationd.service runs", "no permission"])
    expectEqual(Self.findings(nil, Self.silent).map(\.advice), ["Start it"])
  }

  @Test("the last status text of a killed daemon is not reported as the cause of its end")
  func lastWords() {
    let findings = Self.findings(
      .success(Self.looping(.killed(signal: 9), "Online; fix 3D, 11 satellites")), Self.silent)
    expectEqual(findings.first?.sentence.contains("Online"), false)
  }

  @Test("without systemd nothing fails as long as the daemon answers")
  func noSystemd() throws {
    let error = MessageBusError(.absent, "no systemd runs here")
    let findings = Self.findings(.failure(error), .status(try Self.status()))
    expectEqual(findings.map(\.severity), [.warn, .pass])
    expectEqual(Self.findings(.failure(error), Self.silent).map(\.severity), [.warn, .fail])
  }

  @Test("a problem that does not prevent delivery is a warning")
  func warnings() throws {
    let restarted = Self.findings(.success(Self.running { $0.restarts = 3 }), .status(try Self.status()))
    expect(restarted.first?.severity == .warn && restarted.first?.sentence.contains("3 times") == true)
    let changed = Self.findings(.success(Self.running { $0.needsReload = true }), .status(try Self.status()))
    expect(changed.contains { $0.severity == .warn && $0.advice?.contains("daemon-reload") == true })
    let disabled = Self.findings(.success(Self.running { $0.file = "disabled" }), .status(try Self.status()))
    expect(disabled.contains { $0.severity == .warn && $0.advice?.contains("systemctl enable") == true })
    let other = Self.findings(.success(Self.running()), .status(try Self.status(["vehicle": "van-2"])))
    expect(
      other.contains { $0.severity == .warn && $0.sentence.contains("van-2") && $0.sentence.contains("truck-17") })
    let old = Self.findings(.success(Self.running()), .status(try Self.status(["version": "0.0.9"])))
    expect(old.contains { $0.severity == .warn && $0.sentence.contains("0.0.9") })
    var settings: [String: Any] = ["hash": "0123456789abcdef", "isKept": false]
    settings["lastReload"] = ["isSuccess": false, "age": 9, "mistake": "f.toml:3:1: sped"] as [String: Any]
    let refused = Self.findings(.success(Self.running()), .status(try Self.status(["settings": settings])))
    expect(refused.map(\.severity) == [.pass, .warn, .pass] && refused[1].sentence.hasSuffix(": f.toml:3:1: sped"))
    let byHand = Self.findings(.success(ServiceStatus(unit: Self.unit)), .status(try Self.status()))
    expectEqual(byHand.map(\.severity), [.warn, .pass])
    let backlog = ["count": 3, "store": "memory", "storeTrouble": "disk full", "removed": [:]] as [String: Any]
    let memory = Self.findings(.success(Self.running()), .status(try Self.status(["backlog": backlog])))
    expect(memory.contains { $0.severity == .warn && $0.sentence.contains("disk full") })
    let offline = try Self.status([
      "isOnline": false, "state": ["cause": "network", "label": "offline", "detail": " for 9 s", "level": "bad"],
      "summary": "offline for 9 s",
    ])
    let now = Self.findings(.success(Self.running()), .status(offline))
    expect(now.map(\.severity) == [.pass, .pass, .warn] && now.last?.sentence.contains("offline for 9 s") == true)
  }

  @Test("plain updates are reported with their reason, unless the settings request them")
  func updateForm() throws {
    func findings(_ form: [String: Any], isOnline: Bool = true) throws -> [Finding] {
      Self.findings(.success(Self.running()), .status(try Self.status(["updateForm": form, "isOnline": isOnline])))
    }
    // While no update is accepted, plain updates are not reported, because they are not the cause.
    let offline = try findings(["form": "plain", "reason": "compact ones failed", "isSet": false], isOnline: false)
    expect(!offline.contains { $0.sentence.contains("compact") })
    try expectEqual(findings(["form": "compact", "isSet": false]).map(\.severity), [.pass, .pass])
    try expectEqual(findings(["form": "plain", "reason": "it is off", "isSet": true]).map(\.severity), [.pass, .pass])
    let refused = try findings(["form": "plain", "reason": "the server refuses compact ones", "isSet": false])
    expectEqual(refused.map(\.severity), [.pass, .warn, .pass])
    expect(refused[1].sentence.hasSuffix("plain, because the server refuses compact ones"))
  }

  @Test("a line with wrong checksums is reported with its receiver")
  func line() throws {
    let line: [String: Any] = [
      "source": "/dev/gps0", "sentences": 960, "wrongChecksums": 40, "cut": 0, "overlong": 0, "late": 0, "foreign": 0,
    ]
    let trouble = "4 % of lines have wrong checksums: cable or baud rate"
    let good = Self.findings(.success(Self.running()), .status(try Self.status(["lines": [line]])))
    expect(good.allSatisfy { $0.severity == .pass })
    let bad = try Self.status(["lines": [line.merging(["trouble": trouble]) { $1 }]])
    let findings = Self.findings(.success(Self.running()), .status(bad))
    expect(findings.contains { $0.severity == .warn && $0.sentence == "/dev/gps0: \(trouble)" })
  }

  @Test("network senders are listed; a sender that is not allowed causes a warning for an hour", arguments: [2, 3600])
  func senders(age: Int) throws {
    let line: [String: Any] = [
      "source": "udp 0.0.0.0:10110", "sentences": 960, "wrongChecksums": 0, "cut": 0, "overlong": 0, "late": 0,
      "foreign": 0,
      "senders": [["address": "192.168.0.1", "isUsed": true], ["address": "192.168.0.2", "isUsed": false]],
      "refused": [
        ["address": "10.0.0.8", "count": 9, "age": age + 80], ["address": "10.0.0.9", "count": 1, "age": age],
      ],
    ]
    let findings = Self.findings(.success(Self.running()), .status(try Self.status(["lines": [line]])))
    expect(findings.contains(.pass("udp 0.0.0.0:10110: senders 192.168.0.1, which is used; 192.168.0.2")))
    expectEqual(
      findings.filter { $0.severity == .warn }.map(\.sentence),
      (age == 2 ? ["udp 0.0.0.0:10110: 10.0.0.9 is not allowed and has sent once 2 s ago"] : []))
  }

  @Test("settings with a mistake fail, although the daemon continues with the last valid settings")
  func kept() throws {
    let settings: [String: Any] = [
      "hash": "0123456789abcdef", "isKept": true, "mistake": "f.toml:3:1: sped\nf.toml:4:1: x",
    ]
    let findings = Self.findings(.success(Self.running()), .status(try Self.status(["settings": settings])))
    expectEqual(findings.map(\.severity), [.pass, .fail, .pass])
    expect(findings[1].sentence.contains("f.toml:3:1: sped"))
  }

  @Test(
    "settings files that the daemon does not use yet cause a warning, unless that is unknown, or reported otherwise",
    arguments: [
      ("a", "a", false, "truck-17", false), ("a", "b", false, "truck-17", true), (nil, "b", false, "truck-17", false),
      ("a", nil, false, "truck-17", false), ("a", "b", true, "truck-17", false), ("a", "b", false, "van-2", false),
    ] as [(String?, String?, Bool, String, Bool)])
  func notLoaded(hash: String?, daemonHash: String?, isKept: Bool, vehicle: String, isWarned: Bool) throws {
    var changes: [String: Any] = [:]
    if let daemonHash { changes["settings"] = ["hash": daemonHash, "isKept": isKept] as [String: Any] }
    let findings = ServiceFindings.findings(
      unit: nil, daemon: .status(try Self.status(changes)), vehicle: vehicle, hash: hash, heartbeat: Self.heartbeat)
    expectEqual(findings.contains { $0.code == .settingsNotLoaded }, isWarned)
  }

  @Test("the check waits for a daemon that has just started, unless it already has a problem or is paused")
  func starting() throws {
    let fresh: [String: Any] = [
      "uptime": 3, "lastUpdate": NSNull(), "isOnline": false,
      "state": ["cause": "noFix", "label": "waiting for a fix", "detail": "", "level": "warning"],
    ]
    func isStarting(_ changes: [String: Any]) throws -> Bool {
      ServiceFindings.isStarting(.status(try Self.status(fresh.merging(changes) { $1 })))
    }
    expect(try isStarting([:]))
    expect(try !isStarting(["uptime": 30]))
    expect(try !isStarting(["lastUpdate": 1]))
    expect(try !isStarting(["isPaused": true]))
    expect(
      try !isStarting(["state": ["cause": "noSource", "label": "no source", "detail": ": silent", "level": "bad"]]))
    expect(!ServiceFindings.isStarting(Self.silent))
  }

  @Test(
    "a settings file belongs to a service only if it is in the package's directory",
    arguments: [
      ("/etc/fleet-locationd/fleet-locationd.toml", "fleet-locationd.service", "/run/fleet-locationd/control.sock"),
      ("/etc/fleet-locationd/van-2.toml", "fleet-locationd@van-2.service", "/run/fleet-locationd-van-2/control.sock"),
      ("/tmp/fleet-locationd.toml", nil, nil), ("van-2.toml", nil, nil),
      ("/etc/fleet-locationd/conf.d/a.toml", nil, nil),
      ("/etc/fleet-locationd/.toml", nil, nil), ("", nil, nil),
    ])
  func service(path: String, unit: String?, socket: String?) {
    let service = InstalledService(settings: path)
    expect(service?.unit == unit && service?.socket == socket)
  }

  @Test(
    "a socket belongs to a service only if it is in the runtime directory of one of the package's units",
    arguments: [
      ("/run/fleet-locationd/control.sock", "fleet-locationd.service"),
      ("/run/fleet-locationd-van-2/control.sock", "fleet-locationd@van-2.service"),
      ("/tmp/control.sock", nil), ("/run/fleet-locationd", nil), ("/run/fleet-locationd-/control.sock", nil),
      ("/run/fleet-locationdx/control.sock", nil), ("/run/fleet-locationd-a/b/control.sock", nil), ("", nil),
    ])
  func socket(path: String, unit: String?) {
    expectEqual(InstalledService(socket: path)?.unit, unit)
  }

  @Test(
    "the daemon is healthy when doctor passes: an update was accepted within two heartbeats, or it is paused by command"
  )
  func health() throws {
    func health(_ changes: [String: Any]) throws -> String {
      let (isHealthy, sentence) = ServiceFindings.health(try Self.status(changes))
      return "\(isHealthy) \(sentence)"
    }
    try expectEqual(health(["lastUpdate": 120]), "true Fleet Engine accepted an update 2 min ago")
    expect(try health(["lastUpdate": 121]).hasPrefix("false Fleet Engine has accepted no update for 2 min"))
    expect(
      try health(["lastUpdate": NSNull(), "uptime": 9]).hasPrefix(
        "false Fleet Engine has accepted no update since the daemon started 9 s ago"))
    // For a release that does not report its heartbeat, the default of 50 s is used.
    expect(try health(["lastUpdate": 100, "heartbeat": NSNull()]).hasPrefix("true "))
    expect(try health(["lastUpdate": 101, "heartbeat": NSNull()]).hasPrefix("false "))
    expect(try health(["lastUpdate": 900, "isPaused": true]).hasPrefix("true paused by command"))
    let offline: [String: Any] = [
      "isOnline": false, "state": ["cause": "network", "label": "offline", "detail": " for 9 s", "level": "bad"],
    ]
    try expectEqual(health(offline), "true Fleet Engine accepted an update 3 s ago, but now: offline for 9 s")
  }

  @Test("a credential whose file is missing is reported with the path of the file")
  func missingCredential() {
    let findings = ServiceFindings.findings(
      unit: .success(Self.looping(.exited(243))),
      faults: [CredentialFault(kind: .missing, name: "token-provider", file: "/etc/f/key")], daemon: Self.silent,
      vehicle: nil, heartbeat: Self.heartbeat)
    expectEqual(findings.first?.severity, .fail)
    expectEqual(
      findings.first?.sentence.contains("the file of the credential token-provider does not exist: /etc/f/key"), true)
  }

  // MARK: - Settings and credentials

  @Test("a service that waits for a file or credential fails")
  func waits() {
    let waiting = Self.running {
      $0.text = "Waiting for a file or credential that the settings name: /run/key: there is no such file"
    }
    let findings = Self.findings(.success(waiting), Self.silent)
    expectEqual(findings.first?.severity, .fail)
    expectEqual(findings.first?.sentence.hasSuffix("/run/key: there is no such file"), true)
  }

  @Test("if a daemon that waits for its settings answers, the missing file is reported once, as a failure")
  func answersWaiting() {
    let missing = MissingSettings("/run/key: there is no such file")
    let report = StatusReport(missing, pause: PauseRecord(since: nil))
    let findings = Self.findings(.success(Self.running { $0.text = missing.sentence }), .status(report))
    expectEqual(findings.filter { $0.severity == .fail }.map(\.code), [.settingsIncomplete])
    expectEqual(findings.filter { $0.sentence.contains("/run/key") }.count, 1)
    expect(findings.contains { $0.severity == .pass && $0.sentence.contains("runs") })
    expect(!ServiceFindings.isStarting(.status(report)))
    expect(!ServiceFindings.health(report).isHealthy)
  }

  @Test("a credential whose file has changed since the start is reported with the advice to restart the service")
  func outdated() throws {
    let findings = ServiceFindings.findings(
      unit: .success(Self.running()), outdated: ["token-provider"], daemon: .status(try Self.status()),
      vehicle: "truck-17", heartbeat: Self.heartbeat)
    let warning = try #require(findings.first { $0.severity == .warn })
    expect(warning.sentence.contains("the credential token-provider has changed since"))
    expectEqual(warning.advice, "systemctl restart fleet-locationd.service")
  }
}
