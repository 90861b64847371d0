// SPDX-License-Identifier: Apache-2.0
import SimulatedDrives
import FleetEngineEmulator
import Glibc
import Positioning
import Release
import RouteFile

func warn(_ message: String) {
  let line = "fleet-engine-emulator: \(message)\n"
  _ = unsafe write(STDERR_FILENO, line, line.utf8.count)
}

/// Prints the reason to standard error and exits.
///
/// - Parameter status: 2 for a mistake on the command line, 1 for any other failure.
func fail(_ message: String, status: Int32) -> Never {
  warn(message)
  exit(status)
}

/// The points of a GPX or GeoJSON file.
func route(_ path: String) throws(EmulatorError) -> [LiveMap.RoutePoint] {
  do throws(RouteFileError) {
    return try RouteFile.load(path: path).points.map {
      .init(
        latitude: $0.coordinate.latitude, longitude: $0.coordinate.longitude, isTunnel: $0.surroundings == .tunnel)
    }
  } catch {
    throw EmulatorError(.route, "--route \(error.message)")
  }
}

func serve(_ arguments: EmulatorArguments) throws(EmulatorError) -> Int32 {
  let stopSignals = StopSignals()
  var record: ((JSON) -> Void)?
  if let path = arguments.recordFile {
    let file = Shared(try LineFile(path: path))
    record = { entry in
      if !file.value.add(entry.text) { fail("cannot write to \(path); is the disk full?", status: 1) }
    }
  }
  var mapOptions = arguments.mapOptions
  if let file = arguments.routeFile { mapOptions.route = try route(file) }
  let isQuiet = arguments.isQuiet
  let clock = { [offset = arguments.clockOffset] in SystemClock.now(offset: offset) }
  let emulator = Emulator(
    arguments.serviceOptions, map: LiveMap(options: mapOptions, files: arguments.pageFiles), key: try SigningKey(),
    account: try arguments.accountFile.map { (path) throws(EmulatorError) in try ServiceAccount(file: path) },
    log: { if !isQuiet { LineFile.standardOutput.add($0) } }, record: record)
  let service = emulator.service
  let server = try HTTPServer(
    address: arguments.address, port: arguments.port, clock: clock,
    performPendingWork: { emulator.performPendingWork(at: $0, isWatched: $1) },
    answer: { emulator.handle($0, at: clock()) })
  let host = arguments.address == "::1" ? "[::1]" : arguments.address
  let url = "http://\(host):\(server.port)"
  LineFile.standardOutput.add("listening on \(url)")
  LineFile.standardOutput.add("map: \(url)/")
  if let path = arguments.readyFile { try LineFile(path: path, truncating: true).add(url) }
  server.run(until: stopSignals, or: arguments.seconds.map { clock().steady + $0 * 1000 })
  LineFile.standardOutput.add(
    "accepted \(service.acceptedCount) updates, refused \(service.refusedCount), \(service.warningCount) warnings, "
      + "\(service.issuedTokenCount) tokens issued")
  guard service.acceptedCount >= arguments.requiredUpdates else {
    fail("\(arguments.requiredUpdates) accepted updates were required", status: 1)
  }
  return 0
}

func serveTokens(_ arguments: TokenServerArguments) throws(EmulatorError) -> Int32 {
  let stopSignals = StopSignals()
  let account = try ServiceAccount(file: arguments.accountFile)
  let isQuiet = arguments.isQuiet
  let clock = { SystemClock.now(offset: 0) }
  let service = TokenServer(
    account: account, options: arguments.serverOptions, log: { if !isQuiet { LineFile.standardOutput.add($0) } })
  let server = try HTTPServer(
    address: arguments.address, port: arguments.port, isPublic: arguments.isPublic, clock: clock
  ) { request in
    service.handle(request, at: clock())
  }
  let host = arguments.address.contains(":") ? "[\(arguments.address)]" : arguments.address
  let url = "http://\(host):\(server.port)"
  let clients = arguments.serverOptions.authorization == nil ? "any client" : "any client with the Authorization header"
  let vehicleScope = arguments.serverOptions.vehicles
  let vehicles =
    vehicleScope.isEmpty ? "any vehicle" : "\(vehicleScope.joined(separator: ", ")), and any trip or parcel"
  warn(
    "WARNING: for tests only. \(url) issues REAL tokens, signed by \(account.email), to \(clients), for \(vehicles)"
      + (arguments.isPublic ? ", unencrypted over the network" : "")
      + ". A fleet needs a backend that authenticates its vehicles; keep the key there.")
  LineFile.standardOutput.add("listening on \(url)")
  if let path = arguments.readyFile { try LineFile(path: path, truncating: true).add(url) }
  server.run(until: stopSignals, or: arguments.seconds.map { clock().steady + $0 * 1000 })
  LineFile.standardOutput.add("\(service.issuedTokenCount) tokens issued")
  return 0
}

/// Holds a noncopyable value, so that a closure can capture it.
final class Shared<Value: ~Copyable> {
  let value: Value

  init(_ value: consuming Value) {
    self.value = value
  }
}

do throws(EmulatorArguments.Stop) {
  let run: () throws(EmulatorError) -> Int32
  if CommandLine.arguments.dropFirst().first == "token-server" {
    let arguments = try TokenServerArguments(Array(CommandLine.arguments.dropFirst()))
    run = { () throws(EmulatorError) in try serveTokens(arguments) }
  } else {
    let arguments = try EmulatorArguments(CommandLine.arguments)
    run = { () throws(EmulatorError) in try serve(arguments) }
  }
  do throws(EmulatorError) {
    exit(try run())
  } catch {
    fail(error.message, status: 1)
  }
} catch {
  switch error {
  case .help: print(EmulatorArguments.usage, terminator: "")
  case .tokenServerHelp: print(TokenServerArguments.usage, terminator: "")
  case .version: print(Release.banner("fleet-engine-emulator"), terminator: "")
  case .mistake(let message): fail(message, status: 2)
  }
}
