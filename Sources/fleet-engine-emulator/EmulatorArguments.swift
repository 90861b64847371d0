// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import FleetEngineEmulator
import Release

/// The parsed command line.
struct EmulatorArguments {
  var serviceOptions = FleetService.Options()
  var mapOptions = LiveMap.Options()
  /// Path of a GPX or GeoJSON file with the route to show.
  var routeFile: String?
  /// Path of the JSON key of a service account.
  var accountFile: String?
  var mapFolder: String?
  var leafletFolder: String?
  private var tiles: String?
  private var attribution: String?
  var address = "127.0.0.1"
  var port: UInt16 = 0
  /// How far the emulator's clock is ahead, in milliseconds; negative if it is behind.
  var clockOffset: Int64 = 0
  var recordFile: String?
  var readyFile: String?
  var isQuiet = false
  /// Seconds to run; nil runs until a signal.
  var seconds: Int64?
  /// The exit status is 1 if fewer updates than this were accepted.
  var requiredUpdates = 0

  /// Why the emulator does not run, and what to print instead.
  enum Stop: Error {
    case help
    case tokenServerHelp
    case version
    case mistake(String)
  }

  static let usage = """
    Usage: fleet-engine-emulator [OPTION]...
           fleet-engine-emulator token-server --service-account FILE [OPTION]...
    A local Fleet Engine and token provider, for demos and tests. It listens on the loopback interface only.
    token-server signs real tokens instead, with the key of a Google service account; see token-server --help.

      --port N                 listen on port N; 0 (the default) selects a free port
      --address ADDRESS        listen on 127.0.0.1 (the default) or ::1
      --provider ID            accept only this provider ID (default: any)
      --any-interval           do not warn about updates less than 5 s after the previous one
      --no-create              reject vehicles that were not created with POST (default: the first update creates one)
      --token-lifetime N       lifetime of tokens in seconds, 1 to 86400 (default 3600, the maximum of Fleet Engine)
      --token-authorization V  token requests must have the header `Authorization: V`
      --service-account FILE   also accept tokens of a token-server with this JSON key
      --clock-offset N         seconds by which this server's clock is ahead; negative: behind
      --record FILE            append each update request to FILE, as one line of JSON
      --ready-file FILE        write the URL to FILE when the server is listening
      --tiles URL              background tiles of the map, such as https://tiles.example.com/{z}/{x}/{y}.png; without
                               this the page fetches nothing from other servers
      --attribution TEXT       the tiles' copyright notice; required with --tiles
      --page-rate N            maximum bytes per second to each page of the live map, 10000 to 100000000 (default 100000)
      --route FILE             draw the route of a GPX or GeoJSON file under the tracks, tunnels dashed
      --map-files DIR          serve the map's page from DIR instead of the built-in one, for changing the page
      --leaflet DIR            directory of Leaflet (default /usr/share/javascript/leaflet, of libjs-leaflet)
      --quiet                  print neither updates nor tokens
      --seconds N              stop after N seconds
      --require-updates N      exit with status 1 if fewer than N updates were accepted
      --help, --version

    GET  /                                  the live map: open it in a browser
    GET  /token/delivery_driver/{vehicle}   a token in the format of Google's last mile sample; delivery_consumer: for a
                                            parcel
    GET  /token/driver/{vehicle}            a token in the format of Google's rides sample; consumer: for a trip
    GET  /debug/stats                       the accepted and rejected updates of each vehicle, and the warnings
    GET  /debug/key                         the public key of its tokens, in PEM
    POST /debug/faults                      simulate a fault: {"target": "update", "status": 503, "times": 3,
                                            "retry_after": "10", "vehicle": "truck-17"}; DELETE ends it

    """

  private static let options: [CommandLineOptions.Option] = [
    .init("port", takesValue: true), .init("address", takesValue: true), .init("provider", takesValue: true),
    .init("any-interval"),
    .init("no-create"), .init("token-lifetime", takesValue: true), .init("token-authorization", takesValue: true),
    .init("service-account", takesValue: true), .init("clock-offset", takesValue: true),
    .init("record", takesValue: true), .init("ready-file", takesValue: true),
    .init("quiet"), .init("seconds", takesValue: true), .init("require-updates", takesValue: true),
    .init("tiles", takesValue: true), .init("attribution", takesValue: true), .init("route", takesValue: true),
    .init("map-files", takesValue: true), .init("page-rate", takesValue: true),
    .init("leaflet", takesValue: true), .init("help", short: "h"),
    .init("version"),
  ]

  /// - Parameter arguments: with the program's name first.
  init(_ arguments: [String]) throws(Stop) {
    let options: CommandLineOptions
    do throws(CommandLineOptions.Mistake) {
      options = try CommandLineOptions(arguments, options: Self.options)
    } catch {
      throw .mistake("\(error.message); try --help")
    }
    mapOptions.version = Release.version
    for (name, value) in options.given { try apply(name, value) }
    if let operand = options.operands.first {
      throw .mistake("unexpected \"\(operand)\": only options are allowed; try --help")
    }
    guard (tiles == nil) == (attribution == nil) else {
      throw .mistake("--tiles needs --attribution, the tiles' copyright notice, and the reverse")
    }
    if let tiles, let attribution {
      do throws(EmulatorError) {
        mapOptions.tiles = try TileSource(url: tiles, attribution: attribution)
      } catch {
        throw .mistake("--tiles \(error.message)")
      }
    }
  }

  private mutating func apply(_ name: String, _ value: String) throws(Stop) {
    switch name {
    case "port": port = UInt16(try EmulatorArguments.number(name, value, 0...65_535))
    case "address": address = value
    case "provider": serviceOptions.provider = value
    case "any-interval": serviceOptions.minimumInterval = 0
    case "no-create": serviceOptions.createsVehicles = false
    case "token-lifetime": serviceOptions.tokenLifetime = try EmulatorArguments.number(name, value, 1...86_400)
    case "token-authorization": serviceOptions.tokenAuthorization = value
    case "clock-offset": clockOffset = try EmulatorArguments.number(name, value, -4_000_000_000...4_000_000_000) * 1000
    case "record": recordFile = value
    case "ready-file": readyFile = value
    case "tiles": tiles = value
    case "attribution": attribution = value
    case "service-account": accountFile = value
    case "route": routeFile = value
    case "page-rate": mapOptions.pageRate = Int(try EmulatorArguments.number(name, value, 10_000...100_000_000))
    case "map-files": mapFolder = value
    case "leaflet": leafletFolder = value
    case "quiet": isQuiet = true
    case "seconds": seconds = try EmulatorArguments.number(name, value, 1...86_400_000)
    case "require-updates": requiredUpdates = Int(try EmulatorArguments.number(name, value, 0...1_000_000_000))
    case "version": throw .version
    default: throw .help
    }
  }

  var pageFiles: PageFiles {
    guard let leafletFolder else { return PageFiles(folder: mapFolder) }
    return PageFiles(folder: mapFolder, leaflet: leafletFolder)
  }

  static func number(_ name: String, _ value: String, _ range: ClosedRange<Int64>) throws(Stop) -> Int64 {
    guard let number = Int64(value), range.contains(number) else {
      throw .mistake("--\(name) \(value): expected a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
