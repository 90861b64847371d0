// SPDX-License-Identifier: Apache-2.0
import FleetEngineEmulator
import Glibc
import Release

/// Says why on standard error and ends: 2 for a mistake on the command line, 1 for the rest.
func fail(_ message: String, status: Int32) -> Never {
  let line = "fleet-engine-emulator: \(message)\n"
  _ = write(STDERR_FILENO, line, line.utf8.count)
  exit(status)
}

func serve(_ arguments: Arguments) throws(EmulatorError) -> Int32 {
  let interruption = Interruption()
  var record: ((JSON) -> Void)?
  if let path = arguments.recordFile {
    let file = Shared(try LineFile(path: path))
    record = { entry in
      if !file.value.add(entry.text) { fail("cannot write to \(path); is the disk full?", status: 1) }
    }
  }
  let isQuiet = arguments.isQuiet
  let clock = { [offset = arguments.clockOffset] in SystemClock.now(offset: offset) }
  let service = FleetService(
    options: arguments.service, key: try SigningKey(), log: { if !isQuiet { LineFile.standardOutput.add($0) } },
    record: record)
  let server = try HTTPServer(address: arguments.address, port: arguments.port, clock: clock) { request in
    service.handle(request, at: clock())
  }
  let host = arguments.address == "::1" ? "[::1]" : arguments.address
  let url = "http://\(host):\(server.port)"
  LineFile.standardOutput.add("listening on \(url)")
  if let path = arguments.readyFile { try LineFile(path: path, truncating: true).add(url) }
  server.run(until: interruption, or: arguments.seconds.map { clock().steady + $0 * 1000 })
  LineFile.standardOutput.add(
    "accepted \(service.accepted) updates, refused \(service.refused), \(service.warnings) warnings, "
      + "\(service.tokens) tokens given")
  guard service.accepted >= arguments.requiredUpdates else {
    fail("\(arguments.requiredUpdates) accepted updates were required", status: 1)
  }
  return 0
}

/// Lets a closure hold a value that cannot be copied.
final class Shared<Value: ~Copyable> {
  let value: Value

  init(_ value: consuming Value) {
    self.value = value
  }
}

do throws(Arguments.Stop) {
  let arguments = try Arguments(CommandLine.arguments)
  do throws(EmulatorError) {
    exit(try serve(arguments))
  } catch {
    fail(error.message, status: 1)
  }
} catch {
  switch error {
  case .help: print(Arguments.usage, terminator: "")
  case .version: print(Release.banner("fleet-engine-emulator"), terminator: "")
  case .mistake(let message): fail(message, status: 2)
  }
}
