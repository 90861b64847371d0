// SPDX-License-Identifier: Apache-2.0
@preconcurrency import CLinux
import FleetEngineEmulator
import Glibc

/// What the command line asks for.
struct Arguments {
  var service = FleetService.Options()
  var address = "127.0.0.1"
  var port: UInt16 = 0
  /// Milliseconds.
  var clockOffset: Int64 = 0
  var recordFile: String?
  var readyFile: String?
  var isQuiet = false
  /// Nil runs until a signal comes.
  var seconds: Int64?
  /// Fewer accepted updates make the exit status 1.
  var requiredUpdates = 0

  /// What to do at once instead of serving.
  enum Stop: Error {
    case help
    case version
    case mistake(String)
  }

  static let usage = """
    Usage: fleet-engine-emulator [OPTION]...
    A local Fleet Engine and token provider, for demos and tests. It listens on the loopback interface only.

      --port N                 listen on port N; 0 (the default) takes a free one
      --address ADDRESS        127.0.0.1 (the default) or ::1
      --provider ID            refuse every other provider
      --no-create              refuse vehicles that were not created by POST
      --token-lifetime N       seconds that a token lives, 1 to 86400 (default 3600; Fleet Engine takes no more)
      --token-authorization V  the token endpoints want `Authorization: V`
      --clock-offset N         seconds that this server's clock is ahead, may be negative
      --record FILE            add each update request to FILE, one JSON line each
      --ready-file FILE        write the URL to FILE once it is listening
      --quiet                  print neither updates nor tokens
      --seconds N              stop after N seconds
      --require-updates N      exit 1 unless N updates were accepted by the end
      --help, --version

    GET  /token/delivery_driver/{vehicle}   a token as Google's last mile sample gives it
    GET  /token/driver/{vehicle}            a token as Google's rides sample gives it
    GET  /debug/stats                       what came, what was refused, what was wrong
    POST /debug/faults                      ask for trouble: {"target": "update", "status": 503, "times": 3,
                                            "retry_after": "10"}; DELETE ends it

    """

  private static let names: [(name: StaticString, takesValue: Bool)] = [
    ("port", true), ("address", true), ("provider", true), ("no-create", false), ("token-lifetime", true),
    ("token-authorization", true), ("clock-offset", true), ("record", true), ("ready-file", true), ("quiet", false),
    ("seconds", true), ("require-updates", true), ("help", false), ("version", false),
  ]

  init() throws(Stop) {
    var options = Self.names.enumerated().map { index, option in
      // StaticString: getopt keeps the pointers.
      UnsafeRawPointer(option.name.utf8Start).withMemoryRebound(to: CChar.self, capacity: option.name.utf8CodeUnitCount)
      {
        CLinux.option(name: $0, has_arg: option.takesValue ? 1 : 0, flag: nil, val: Int32(index + 1))
      }
    }
    options.append(CLinux.option(name: nil, has_arg: 0, flag: nil, val: 0))
    while true {
      let found = getopt_long(CommandLine.argc, CommandLine.unsafeArgv, "h", options, nil)
      if found == -1 { break }
      if found == Int32(UInt8(ascii: "h")) { throw .help }
      guard found > 0, found <= Self.names.count else { throw .mistake("try --help") }
      let value = optarg.map { String(cString: $0) } ?? ""
      try apply(Self.names[Int(found) - 1].name.description, value)
    }
    if optind < CommandLine.argc { throw .mistake("it takes no argument but options; try --help") }
  }

  private mutating func apply(_ name: String, _ value: String) throws(Stop) {
    switch name {
    case "port": port = UInt16(try number(name, value, 0...65_535))
    case "address": address = value
    case "provider": service.provider = value
    case "no-create": service.createsVehicles = false
    case "token-lifetime": service.tokenLifetime = try number(name, value, 1...86_400)
    case "token-authorization": service.tokenAuthorization = value
    case "clock-offset": clockOffset = try number(name, value, -4_000_000_000...4_000_000_000) * 1000
    case "record": recordFile = value
    case "ready-file": readyFile = value
    case "quiet": isQuiet = true
    case "seconds": seconds = try number(name, value, 1...86_400_000)
    case "require-updates": requiredUpdates = Int(try number(name, value, 0...1_000_000_000))
    case "version": throw .version
    default: throw .help
    }
  }

  private func number(_ name: String, _ value: String, _ range: ClosedRange<Int64>) throws(Stop) -> Int64 {
    guard let number = Int64(value), range.contains(number) else {
      throw .mistake("--\(name) \(value): expected a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
