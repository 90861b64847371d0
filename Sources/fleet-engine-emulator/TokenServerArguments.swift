// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import FleetEngineEmulator

/// What the command line of `token-server` asks for.
struct TokenServerArguments {
  var service = TokenServer.Options()
  var accountFile = ""
  var address = "127.0.0.1"
  var port: UInt16 = 0
  var isPublic = false
  var readyFile: String?
  var isQuiet = false
  /// Nil runs until a signal comes.
  var seconds: Int64?

  static let usage = """
    Usage: fleet-engine-emulator token-server --service-account FILE [OPTION]...
    Gives real tokens for Google's Fleet Engine, to any client: for trials, until there is a backend that authenticates its clients.

      --service-account FILE   the JSON key of a Google service account; nobody but its owner may have access
      --port N                 listen on port N; 0 (the default) takes a free one
      --address ADDRESS        127.0.0.1 (the default) or ::1; with --allow-network any address of this machine
      --allow-network          let other machines ask, in plain HTTP; needs --authorization
      --vehicle-scope LIST     give tokens for these vehicles only: IDs with commas between, or beginnings such as truck-*
      --authorization VALUE    want `Authorization: VALUE`
      --token-lifetime N       seconds that a token lives, 1 to 3600 (default 3600; Fleet Engine takes no more)
      --fleet-reader           serve /token/fleet_reader/: a token that sees every vehicle and task
      --ready-file FILE        write the URL to FILE once it is listening
      --quiet                  do not print who was given a token
      --seconds N              stop after N seconds
      --help, --version

    GET  /token/delivery_driver/{vehicle}          deliveryvehicleid, as Google's last mile sample answers
    GET  /token/delivery_consumer/{tracking ID}    trackingid
    GET  /token/driver/{vehicle}                   vehicleid, as Google's rides sample answers
    GET  /token/consumer/{trip}                    tripid
    What a token is good for depends on the role of the service account as well.

    """

  private static let options: [CommandLineOptions.Option] = [
    .init("service-account", takesValue: true), .init("port", takesValue: true), .init("address", takesValue: true),
    .init("allow-network"), .init("vehicle-scope", takesValue: true), .init("authorization", takesValue: true),
    .init("token-lifetime", takesValue: true), .init("fleet-reader"), .init("ready-file", takesValue: true),
    .init("quiet"), .init("seconds", takesValue: true), .init("help", short: "h"), .init("version"),
  ]

  /// - Parameter arguments: with the command's name first.
  init(_ arguments: [String]) throws(Arguments.Stop) {
    let options: CommandLineOptions
    do throws(CommandLineOptions.Mistake) {
      options = try CommandLineOptions(arguments, options: Self.options)
    } catch {
      throw .mistake("\(error.message); try token-server --help")
    }
    for (name, value) in options.given { try apply(name, value) }
    if let operand = options.operands.first {
      throw .mistake("unexpected \"\(operand)\": token-server takes no argument but options; try token-server --help")
    }
    guard !accountFile.isEmpty else {
      throw .mistake("token-server needs --service-account FILE, the JSON key of a Google service account")
    }
    guard !isPublic || service.authorization != nil else {
      throw .mistake("--allow-network needs --authorization: else every machine that reaches this one has real tokens")
    }
  }

  private mutating func apply(_ name: String, _ value: String) throws(Arguments.Stop) {
    switch name {
    case "service-account": accountFile = value
    case "port": port = UInt16(try Arguments.number(name, value, 0...65_535))
    case "address": address = value
    case "allow-network": (isPublic, service.isPublic) = (true, true)
    case "vehicle-scope": service.vehicles = try TokenServerArguments.vehicles(value)
    case "authorization":
      guard !value.isEmpty else {
        throw .mistake("--authorization: expected what requests must hold, as in \"Bearer …\"")
      }
      service.authorization = value
    case "token-lifetime": service.lifetime = try Arguments.number(name, value, 1...3600)
    case "fleet-reader": service.servesReaders = true
    case "ready-file": readyFile = value
    case "quiet": isQuiet = true
    case "seconds": seconds = try Arguments.number(name, value, 1...86_400_000)
    case "version": throw .version
    default: throw .tokenServerHelp
    }
  }

  private static func vehicles(_ list: String) throws(Arguments.Stop) -> [String] {
    let vehicles = list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard vehicles.allSatisfy({ !$0.isEmpty && !$0.dropLast().contains("*") }) else {
      throw .mistake(
        "--vehicle-scope \(list): expected vehicle IDs with commas between; a * may stand at the end of one")
    }
    return vehicles
  }
}
