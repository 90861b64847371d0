// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import FleetEngineEmulator

/// The parsed command line of `token-server`.
struct TokenServerArguments {
  var serverOptions = TokenServer.Options()
  var accountFile = ""
  var address = "127.0.0.1"
  var port: UInt16 = 0
  var isPublic = false
  var readyFile: String?
  var isQuiet = false
  /// Seconds to run; nil runs until a signal.
  var seconds: Int64?

  static let usage = """
    Usage: fleet-engine-emulator token-server --service-account FILE [OPTION]...
    Signs real tokens for Google's Fleet Engine. It is for tests, until there is a backend that authenticates the vehicles.

      --service-account FILE   the JSON key of a Google service account; only the owner of FILE may have access to it
      --port N                 listen on port N; 0 (the default) selects a free port
      --address ADDRESS        listen on 127.0.0.1 (the default) or ::1; with --allow-network on any address of this machine
      --allow-network          accept connections from other machines, unencrypted; needs --authorization
      --vehicle-scope LIST     sign vehicles' tokens only for these IDs, separated by commas, or prefixes such as truck-*
      --authorization VALUE    requests must have the header `Authorization: VALUE`
      --token-lifetime N       lifetime of tokens in seconds, 1 to 3600 (default 3600, the maximum of Fleet Engine)
      --fleet-reader           serve /token/fleet_reader/: a token that can read every delivery vehicle and task
      --ready-file FILE        write the URL to FILE when the server is listening
      --quiet                  do not print the requests
      --seconds N              stop after N seconds
      --help, --version

    GET  /token/delivery_driver/{vehicle}          claim deliveryvehicleid, in the format of Google's last mile sample
    GET  /token/delivery_consumer/{tracking ID}    claim trackingid
    GET  /token/driver/{vehicle}                   claim vehicleid, in the format of Google's rides sample
    GET  /token/consumer/{trip}                    claim tripid
    The role of the service account also limits what a token permits.

    """

  private static let options: [CommandLineOptions.Option] = [
    .init("service-account", takesValue: true), .init("port", takesValue: true), .init("address", takesValue: true),
    .init("allow-network"), .init("vehicle-scope", takesValue: true), .init("authorization", takesValue: true),
    .init("token-lifetime", takesValue: true), .init("fleet-reader"), .init("ready-file", takesValue: true),
    .init("quiet"), .init("seconds", takesValue: true), .init("help", short: "h"), .init("version"),
  ]

  /// - Parameter arguments: with the command's name first.
  init(_ arguments: [String]) throws(EmulatorArguments.Stop) {
    let options: CommandLineOptions
    do throws(CommandLineOptions.Mistake) {
      options = try CommandLineOptions(arguments, options: Self.options)
    } catch {
      throw .mistake("\(error.message); try token-server --help")
    }
    for (name, value) in options.given { try apply(name, value) }
    if let operand = options.operands.first {
      throw .mistake("unexpected \"\(operand)\": only options are allowed; try token-server --help")
    }
    guard !accountFile.isEmpty else {
      throw .mistake("token-server needs --service-account FILE, the JSON key of a Google service account")
    }
    guard !isPublic || serverOptions.authorization != nil else {
      throw .mistake(
        "--allow-network needs --authorization: otherwise every machine that can connect to this one gets real tokens")
    }
  }

  private mutating func apply(_ name: String, _ value: String) throws(EmulatorArguments.Stop) {
    switch name {
    case "service-account": accountFile = value
    case "port": port = UInt16(try EmulatorArguments.number(name, value, 0...65_535))
    case "address": address = value
    case "allow-network": (isPublic, serverOptions.isPublic) = (true, true)
    case "vehicle-scope": serverOptions.vehicles = try TokenServerArguments.vehicles(value)
    case "authorization":
      guard !value.isEmpty else {
        throw .mistake("--authorization is empty: the value of the header is expected, as in \"Bearer …\"")
      }
      serverOptions.authorization = value
    case "token-lifetime": serverOptions.lifetime = try EmulatorArguments.number(name, value, 1...3600)
    case "fleet-reader": serverOptions.issuesReaderTokens = true
    case "ready-file": readyFile = value
    case "quiet": isQuiet = true
    case "seconds": seconds = try EmulatorArguments.number(name, value, 1...86_400_000)
    case "version": throw .version
    default: throw .tokenServerHelp
    }
  }

  private static func vehicles(_ list: String) throws(EmulatorArguments.Stop) -> [String] {
    let vehicles = list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard vehicles.allSatisfy({ !$0.isEmpty && !$0.dropLast().contains("*") }) else {
      throw .mistake(
        "--vehicle-scope \(list): expected vehicle IDs separated by commas; an ID may end in *, for all with this prefix"
      )
    }
    return vehicles
  }
}
