// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Reporting
import Vehicle
import ExternalInput
import Testing
import Timekeeping

@testable import Configuration

/// The rules for single keys, and for combinations of keys.
struct SettingRulesTests {
  let machine = TestMachine()

  @Test(
    "a wrong value is rejected with a message that shows the correct form",
    arguments: [
      (
        "[reporting]\ninterval = 10",
        "reporting.interval: has no unit; write the duration with one, in quotes, as in \"10s\""
      ),
      ("[reporting]\ninterval = \"10\"", "\"10\" lacks its unit: ms, s, min, h or days"),
      ("[reporting]\ninterval = \"5m\"", "\"m\" is not a unit of duration; write min for minutes"),
      ("[reporting]\ninterval = \"61s\"", "\"61s\" is out of range; allowed: 0s to 1min"),
      ("[reporting]\ninterval = \"-5s\"", "is not a duration"),
      ("[reporting]\ninterval = \"nan s\"", "is not a duration"),
      ("[reporting]\ninterval = \"0x10s\"", "\"x\" is not a unit"),
      ("[reporting]\ninterval = true", "is true or false; a duration in quotes, as in \"10s\", is expected"),
      ("[reporting]\ndistance = 25", "as in \"25 m\""),
      ("[reporting]\ndistance = \"25 s\"", "\"s\" is not a unit of distance; the units are m or km"),
      ("[reporting]\nheading = 181", "181.0 is out of range; allowed: 0 to 180"),
      ("[reporting]\nheading = nan", "is out of range"),
      ("[reporting]\nheading = \"5\"", "is a string; a number from 0 to 180 is expected"),
      ("[filter]\nmax_speed = 90.5", "as in \"90.5 km/h\""),
      ("[filter]\nmax_speed = \"90 kmh\"", "write km/h"),
      ("[filter]\nmin_satellites = 4.5", "is a number; a whole number from 0 to 64 is expected"),
      ("[filter]\nmin_satellites = -1", "-1 is out of range"),
      ("[backlog]\nmax_locations = 9223372036854775807", "is out of range"),
      ("[backlog]\nfolder = \"/var/lib/x\"", "backlog.folder: is not a setting; the keys of [backlog] are"),
      ("[log]\nlevel = 2020-01-01", "is a date or time; one of"),
      ("[log]\nbaud = 4800", "is not a setting; it belongs under [source]"),
      ("interval = \"10s\"", "token.interval: is not a setting; it belongs under [reporting]"),
      ("[fleet_engine]\nendpoint = \"http://fleet.example.com\"", "write https:// (http:// is allowed to 127.0.0.0/8"),
      (
        "[fleet_engine]\nendpoint = \"https://fleet.example.com/v1\"",
        "has the path \"/v1\"; write the scheme and the host alone"
      ),
      ("[fleet_engine]\nendpoint = \"fleet.example.com\"", "has no scheme"),
      ("[fleet_engine]\nendpoint = \"ftp://fleet.example.com\"", "has the scheme \"ftp\"; allowed: https, http"),
      ("[fleet_engine]\nendpoint = \"https://u:hunter2@fleet.example.com\"", "has a user name or password in it"),
      ("[fleet_engine]\nproxy = \"http://p:99999\"", "has no valid port after its host; allowed: 1 to 65535"),
      ("body = \"x\"", "token.body: is sent with method = \"POST\" only"),
      ("client_key = \"k.pem\"", "token.client_key: needs `client_certificate`"),
      ("client_certificate = \"c.pem\"", "needs `client_key`"),
      ("expiration_format = \"epoch-s\"", "needs `expiration_key`"),
      ("provider = \"comand\"", "\"comand\" is not allowed; allowed: \"http\", \"command\", \"file\"; did you mean"),
      ("token_key = \"a..b\"", "has an empty part between its dots"),
    ])
  func refused(_ lines: String, _ part: String) {
    let messages = machine.with(pem: ["/etc/f/k.pem", "/etc/f/c.pem"]).messages(for: minimal(rest: lines))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.contains(part), true, "\(messages)")
    expect(!messages.joined().contains("hunter2"))
  }

  @Test("a missing or invalid certificate file is rejected with its position")
  func certificates() {
    var machine = machine
    machine.files["/etc/f/empty.pem"] = []
    machine.problems["/etc/f/locked.pem"] = .systemError("Permission denied")
    let messages = machine.messages(
      for: minimal(
        token: "url = \"https://t\"\nclient_certificate = \"empty.pem\"\nclient_key = \"locked.pem\"",
        rest: "[fleet_engine]\nca_file = \"/none.pem\""))
    expectEqual(
      messages,
      [
        "/etc/f/f.toml:9:22: token.client_certificate: /etc/f/empty.pem is not the PEM file that is expected: it has no line -----BEGIN CERTIFICATE-----",
        "/etc/f/f.toml:10:14: token.client_key: /etc/f/locked.pem cannot be read: Permission denied; a PEM file is expected",
        "/etc/f/f.toml:12:11: fleet_engine.ca_file: /none.pem does not exist; a PEM file is expected",
      ])
  }

  @Test("a file that only the service may read is no mistake, but does not hide one")
  func privateFiles() throws {
    for (problem, isDenied) in [(ConfigurationEnvironment.FileProblem.permissionDenied, true), (.directory, false)] {
      for (line, text) in [
        ("box.pem", minimal(token: "url = \"https://t\"\nclient_certificate = \"box.pem\"\nclient_key = \"box.pem\"")),
        ("box.pem", minimal(rest: "[fleet_engine]\nca_file = \"box.pem\"")),
        ("id", minimal(vehicle: "vehicle_id = { file = \"id\" }")),
      ] {
        var machine = machine.adding(text)
        machine.problems["/etc/f/\(line)"] = problem
        let error = try #require(throws: ConfigurationError.self) { try machine.load() }
        expectEqual(error.isPermissionDenied, isDenied, "\(error)")
        expect(!error.mayAppearLater)
        var other = self.machine.adding(text + "\n[reporting]\ninterval = \"soon\"")
        other.problems["/etc/f/\(line)"] = problem
        let both = try #require(throws: ConfigurationError.self) { try other.load() }
        expect(!both.isPermissionDenied, "\(both)")
      }
    }
  }

  @Test(
    "an encrypted key is refused, because no setting has its passphrase",
    arguments: [
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAA==\n-----END RSA PRIVATE KEY-----\n",
    ])
  func encryptedKey(_ key: String) {
    var machine = machine.with(pem: ["/etc/f/c.pem", "/etc/f/k.pem"])
    let text = minimal(token: "url = \"https://t\"\nclient_certificate = \"c.pem\"\nclient_key = \"k.pem\"")
    expectEqual(machine.messages(for: text), [])
    machine.files["/etc/f/k.pem"] = Array(key.utf8)
    let messages = machine.messages(for: text)
    expectEqual(
      messages,
      [
        "/etc/f/f.toml:10:14: token.client_key: /etc/f/k.pem is encrypted, and no setting has its passphrase; write it "
          + "without one: openssl pkey -in /etc/f/k.pem -out KEY_FILE"
      ])
  }

  @Test("a URL of the token provider whose scheme is in capital letters is used like any other")
  func schemeInCapitals() throws {
    for (url, isPlain) in [("HTTP://127.0.0.1:9/{vehicle_id}", true), ("HTTPS://t.example.com/", false)] {
      try expectEqual(
        machine.settings(for: minimal(token: "url = \"\(url)\"")).token.client.allowsPlainHTTP, isPlain)
    }
  }

  @Test(
    "a mistake in a source is reported with its key",
    arguments: [
      (
        "type = \"gps\"",
        "allowed: \"serial\", \"gpsd\", \"nmea-tcp\", \"nmea-udp\", \"modemmanager\", \"simulated\", \"replay\"; did you mean \"gpsd\"?"
      ),
      ("type = \"gpsd\"\naddress = \"a b\"", "has no valid host"),
      ("type = \"gpsd\"\naddress = \"::1\"", "has an IPv6 address without brackets; write an IPv6 address in brackets"),
      ("type = \"nmea-tcp\"\naddress = \"::1:5000\"", "has an IPv6 address without brackets"),
      ("type = \"serial\"\ndevice = \"/dev/gps0\"\nbued = 9600", "source.bued: is not a setting; did you mean `baud`?"),
      (
        "type = \"serial\"\ndevice = \"/dev/gps0\"\nbaud = \"9600\"",
        "\"9600\" is in quotes; write the number without them: 9600"
      ),
      ("type = \"simulated\"\nroute = \"r\"\nseed = \"7\"", "\"7\" is in quotes; write the number without them: 7"),
      ("type = \"gpsd\"\naddress = \"[::1]2947\"", "has no valid host"),
      ("type = \"gpsd\"\naddress = \"localhost:0\"", "has the port \"0\"; allowed: 1 to 65535"),
      ("type = \"gpsd\"\naddress = \"localhost:gpsd\"", "has the port \"gpsd\""),
      ("type = \"nmea-tcp\"\naddress = \"fe80::1:5000\"", "write an IPv6 address in brackets"),
      ("type = \"gpsd\"\naddress = \"localhost:2947:\"", "ends in a colon without a device"),
      ("type = \"gpsd\"\naddress = 2947", "source.address: is a"),
      ("type = \"gpsd\"\naddress = \"h:1:/dev/a\"\ndevice = \"/dev/b\"", "is not the receiver that `address` names"),
      ("type = \"gpsd\"\nbaud = 9600", "source.baud: belongs to type = \"serial\"; the type is \"gpsd\""),
      (
        "type = \"replay\"\nfile = \"-\"\ndevice = \"/dev/a\"",
        "source.device: belongs to type = \"serial\" or \"gpsd\" or \"modemmanager\"; the type is \"replay\""
      ),
      (
        "type = \"serial\"\ndevice = \"/dev/gps0\"\nbaud = \"fast\"", "\"fast\" is not allowed; allowed: \"auto\", 4800"
      ),
      ("type = \"serial\"\ndevice = \"/dev/gps0\"\nbaud = 9601", "9601 is not allowed; allowed: \"auto\", 4800, 9600"),
      ("type = \"serial\"\ndevice = \"gps0\"", "is not an absolute path"),
      ("type = \"serial\"", "source.device: is missing"),
      (
        "type = \"replay\"\nfile = \"-\"\nbaud = 9600",
        "source.baud: belongs to type = \"serial\"; the type is \"replay\""
      ),
      ("type = \"simulated\"\nroute = \"r\"\nspeed = \"0 km/h\"", "out of range"),
      ("type = \"simulated\"\nroute = \"r\"\nseed = -1", "out of range"),
      ("type = \"replay\"\nfile = \"\"", "is empty"),
      ("type = \"nmea-tcp\"", "source.address: is missing; the address to connect to is expected"),
      ("type = \"nmea-tcp\"\naddress = \"router\"", "\"router\" is not a host with a port"),
      ("type = \"nmea-tcp\"\naddress = \"r:1\"\nlisten = \"127.0.0.1:1\"", "cannot be combined with `address`"),
      ("type = \"nmea-tcp\"\naddress = \"r:1\"\nallow = [\"10.0.0.1\"]", "source.allow: has no effect with `address`"),
      (
        "type = \"nmea-tcp\"\nlisten = \"0.0.0.0:10110\"",
        "source.allow: is missing; the senders' addresses are expected"
      ),
      ("type = \"nmea-tcp\"\nlisten = \"eth0:10110\"", "is not a numeric address of this machine"),
      ("type = \"nmea-tcp\"\nlisten = \"127.0.0.1:1\"\nconnections = 33", "33 is out of range"),
      ("type = \"nmea-udp\"", "source.allow: is missing"),
      ("type = \"nmea-udp\"\nallow = [\"192.168.0.1/24\"]", "a range has zero bits after the prefix"),
      ("type = \"nmea-udp\"\nallow = []", "has 0 entries; allowed: 1 to 64"),
      ("type = \"nmea-udp\"\nallow = \"192.168.0.1\"", "is a string; an array of strings"),
      ("type = \"nmea-udp\"\nallow = [\"10.0.0.1\"]\ngroup = \"10.0.0.2\"", "is not a multicast address"),
      ("type = \"nmea-udp\"\nallow = [\"10.0.0.1\"]\ngroup = \"ff02::1\"", "are not both IPv4 or both IPv6"),
      ("type = \"nmea-udp\"\nallow = [\"10.0.0.1\"]\ninterface = \"eth0\"", "has no effect without `group`"),
      ("device = \"/dev/gps0\"", "source.type: is missing"),
    ])
  func sources(_ lines: String, _ part: String) {
    let messages = machine.messages(for: minimal(source: lines))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.contains(part), true, "\(messages)")
  }

  @Test(
    "without allow, all loopback senders may send to a loopback address, and all link-local ones to a link-local one")
  func networkDefaults() throws {
    func kind(_ lines: String) throws -> SourceKind {
      try machine.settings(for: minimal(source: lines)).sources[0].kind
    }
    let tcp = try kind("type = \"nmea-tcp\"\nlisten = \"[::1]:10110\"")
    expectEqual(
      tcp, .nmeaTCP(NMEATCPSettings(listen: HostAddress(host: "::1", port: 10_110), allow: AddressRange.loopback)))
    expectEqual(tcp.name, "tcp listen [::1]:10110")
    let udp = try kind("type = \"nmea-udp\"\nlisten = \"169.254.1.1:5000\"")
    expectEqual(
      udp,
      .nmeaUDP(
        NMEAUDPSettings(listen: HostAddress(host: "169.254.1.1", port: 5000), allow: AddressRange.linkLocal)))
    let group = try kind(
      "type = \"nmea-udp\"\ngroup = \"239.255.46.9\"\ninterface = \"eth0\"\nallow = [\"192.168.0.0/24\"]")
    expectEqual(group.name, "udp 239.255.46.9:10110")
    try expectEqual(kind("type = \"nmea-tcp\"\naddress = \"router:60660\"").name, "tcp router:60660")
  }

  @Test(
    "listening on a link-local address without allow causes a warning; with allow, or on a loopback address, none",
    arguments: [
      ("nmea-tcp", "169.254.1.1:10110", "", true), ("nmea-udp", "[fe80::2%eth0]:10110", "", true),
      ("nmea-udp", "[fe80::2%eth0]:10110", "allow = [\"fe80::1\"]", false), ("nmea-tcp", "127.0.0.1:10110", "", false),
    ])
  func linkLocal(type: String, listen: String, allow: String, warns: Bool) throws {
    let source = "type = \"\(type)\"\nlisten = \"\(listen)\"\n\(allow)"
    let warnings = try machine.adding(minimal(source: source)).load().warnings.map(\.description)
    expectEqual(warnings.count, (warns ? 1 : 0))
    if let warning = warnings.first {
      expect(warning.contains("source.allow: is missing: any host that reaches \(listen) can forge the"), "\(warning)")
    }
  }

  @Test("an address that cannot be used causes a warning: a link-local one without its interface, and one used twice")
  func unusableListen() throws {
    func warnings(_ sources: String) throws -> [String] {
      let rest = minimal().replacing("[source]\ntype = \"serial\"\ndevice = \"/dev/gps0\"\n", with: "")
      return try machine.adding(rest + sources).load().warnings.map(\.description)
    }
    let allow = "allow = [\"10.0.0.1\"]"
    let zoneless = try warnings("[[source]]\ntype = \"nmea-udp\"\nlisten = \"[fe80::2]:1\"\nallow = [\"fe80::1\"]\n")
    expectEqual(zoneless.count, 1)
    expect(zoneless[0].contains("cannot be used without its interface, as in \"[fe80::2%eth0]:1\""), "\(zoneless)")
    let plain = "[[source]]\ntype = \"nmea-udp\"\n\(allow)\n"
    let twice = try warnings(plain + "group = \"239.255.46.9\"\n" + plain)
    expectEqual(twice.count, 1)
    expect(twice[0].contains("source[2].listen: cannot be used at the same time as the address of another"), "\(twice)")
    let groups = plain + "group = \"239.255.46.9\"\n" + plain + "group = \"239.255.46.8\"\n"
    try expectEqual(warnings(groups), [])
    // Only one can listen at a port, if an address includes the other: the addresses, and how many of the two warn.
    for (first, second, count) in [
      ("0.0.0.0:1", "127.0.0.1:1", 1), ("[::]:1", "127.0.0.1:1", 1), ("[::1]:1", "[::]:1", 1),
      ("0.0.0.0:1", "[::]:1", 1), ("0.0.0.0:1", "[::1]:1", 0), ("127.0.0.1:1", "127.0.0.2:1", 0),
      ("0.0.0.0:1", "127.0.0.1:2", 0),
    ] {
      for type in ["nmea-udp", "nmea-tcp"] {
        let sources = [first, second].map { "[[source]]\ntype = \"\(type)\"\nlisten = \"\($0)\"\n" + allow + "\n" }
        let found = try warnings(sources.joined())
        expectEqual(found.count, count, "\(type) \(first) \(second) \(found)")
        expect(found.allSatisfy { $0.contains("source[2].listen: cannot be used at the same time as") })
      }
    }
  }

  @Test(
    "a gpsd source has a host, a port and a device, each of which is optional",
    arguments: [
      ("", "localhost", 2947, nil), ("address = \"10.0.0.1\"", "10.0.0.1", 2947, nil),
      ("address = \"box.example.com:2948\"", "box.example.com", 2948, nil),
      ("address = \"localhost:2947:/dev/ttyUSB0\"", "localhost", 2947, "/dev/ttyUSB0"),
      ("address = \"[fe80::1%eth0]:2947:udp://1.2.3.4:5\"", "fe80::1%eth0", 2947, "udp://1.2.3.4:5"),
      ("address = \"[::1]\"\ndevice = \"/dev/a\"", "::1", 2947, "/dev/a"),
    ] as [(String, String, Int, String?)])
  func gpsd(_ lines: String, host: String, port: Int, device: String?) throws {
    let settings = try machine.settings(for: minimal(source: "type = \"gpsd\"\n" + lines))
    expectEqual(settings.sources[0].kind, .gpsd(GPSDSettings(address: .init(host: host, port: port), device: device)))
  }

  @Test(
    "a gpsd is on this machine if its host is localhost or a loopback address",
    arguments: [
      ("localhost", true), ("LocalHost", true), ("127.0.0.1", true), ("::1", true), ("10.0.0.1", false),
      ("fe80::1%eth0", false), ("localhost.example.com", false),
    ])
  func localGPSD(host: String, isLocal: Bool) {
    expectEqual(GPSDSettings.Address(host: host, port: 2947).isLocal, isLocal)
  }

  @Test("baud = \"auto\" is read as no baud rate, which means that it is detected")
  func autobaud() throws {
    let settings = try machine.settings(
      for: minimal(source: "type = \"serial\"\ndevice = \"/dev/gps0\"\nbaud = \"auto\""))
    expectEqual(settings.sources[0].kind, .serial(SerialSettings(device: "/dev/gps0", baud: nil)))
  }

  @Test("a short interval is accepted only with an endpoint on a loopback address")
  func shortInterval() throws {
    let lines = "[reporting]\ninterval = \"0s\"\nheartbeat = \"1s\"\n[fleet_engine]\nendpoint = "
    try expectEqual(
      machine.settings(for: minimal(rest: lines + "\"http://127.0.0.1:8080/\"")).agent.reporting.interval, .zero)
    let messages = machine.messages(for: minimal(rest: lines + "\"https://fleet.example.com\""))
    expectEqual(messages.count, 2)
    expect(messages.allSatisfy { $0.contains("is under 5s, which Fleet Engine does not accept") })
  }

  @Test(
    "the heartbeat must be between the interval and 50s; its default is 50s, or the interval if that is longer",
    arguments: [
      ("interval = \"20s\"\nheartbeat = \"10s\"", nil), ("heartbeat = \"60s\"", nil),
      ("", Duration.seconds(50)), ("interval = \"60s\"", .seconds(60)),
      ("interval = \"30s\"\nheartbeat = \"30s\"", .seconds(30)),
    ] as [(String, Duration?)])
  func heartbeat(_ lines: String, _ expected: Duration?) {
    let text = minimal(rest: "[reporting]\n\(lines)")
    guard let expected else {
      let messages = machine.messages(for: text)
      return expect(messages.contains { $0.contains("heartbeat") }, "\(messages)")
    }
    expectEqual(try? machine.settings(for: text).agent.reporting.heartbeat, expected)
  }

  @Test(
    "a secret or a mistake in a header is rejected, and the message does not contain the secret",
    arguments: [
      "Authorization = \"Bearer hunter2\"", "x-api-key = \"hunter2\"", "Cookie = \"hunter2\"",
      "X-Custom = \"Bearer hunter2\"",
      "X-Auth-Token = \"hunter2\"", "Authorization = 5", "\"Bad Name\" = \"hunter2\"", "Host = \"hunter2\"",
      "X-A = \"hunter2\\n\"", "X-A = { secret = \"hunter2\" }", "X-A = { file = \"a\", credential = \"b\" }",
      "X-A = { credential = \"../hunter2\" }", "X-A = \"1\"\nx-a = \"hunter2\"",
      "X-A = { credential = \"Bearer hunter2\" }", "X-A = { credential = \"Authorization: Basic hunter2\" }",
      "X-A = { credential = \"hunter2/hunter2\" }", "X-A = { file = \"Bearer hunter2\" }",
      "X-A = { file = \"eyJhbGciOiJub25lIn0.hunter2\" }",
    ])
  func headerSecrets(_ line: String) {
    let messages = machine.messages(for: minimal(rest: "[token.headers]\n\(line)"))
    expectEqual(messages.count, 1, "\(messages)")
    expectEqual(messages.first?.contains("token.headers: "), true)
    expect(!messages.joined().contains("hunter2"))
  }

  @Test("the value of a header can be a credential, a file or plain text")
  func headers() throws {
    let settings = try machine.settings(
      for: minimal(
        rest: """
          [token.headers]
          Authorization = { credential = "token-provider" }
          X-Api-Key = { file = "key" }
          Accept = "application/json"
          """))
    expectEqual(
      settings.token.headers,
      [
        .init(name: "Accept", valueSource: .plain("application/json")),
        .init(name: "Authorization", valueSource: .credential("token-provider")),
        .init(name: "X-Api-Key", valueSource: .file("/etc/f/key")),
      ])
  }

  @Test(
    "placeholders of the URL are checked, and braces of JSON in a body are not taken for placeholders",
    arguments: [
      ("https://t/{vehicle_id}?p={provider_id}", nil), ("https://t/{vehicleid}", "did you mean {vehicle_id}?"),
      ("https://t/{vehicle_id", "has an unmatched brace"),
      ("https://t/vehicle_id}", "unmatched brace"),
      ("https://{vehicle_id}.t/", "no placeholder in its host"), ("https://t/{}", "unmatched brace"),
    ] as [(String, String?)])
  func placeholders(_ url: String, _ part: String?) {
    let messages = machine.messages(for: minimal(token: "url = \"\(url)\""))
    expectEqual(messages.count, (part == nil ? 0 : 1))
    if let part { expectEqual(messages.first?.contains(part), true, "\(messages)") }
    let body = #"method = "POST"\#nbody = '{"v": {"id": "{vehicle_id}", "n": {}}}'"#
    expectEqual(machine.messages(for: minimal(rest: body)), [])
    expectEqual(machine.messages(for: minimal(rest: #"method = "POST"\#nbody = '{"v": "{trip_id}"}'"#)).count, 1)
  }
}
