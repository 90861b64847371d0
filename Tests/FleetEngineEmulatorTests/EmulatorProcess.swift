// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Runs the emulator as a process, and curl as its client.
enum EmulatorProcess {
  struct Result {
    var status: Int32
    var output: String
    var errors: String
  }

  private static var directory: URL {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  static func start(_ program: String, _ arguments: [String]) throws -> (
    process: Process, output: Pipe, errors: Pipe
  ) {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    return (process, output, errors)
  }

  static func run(_ program: String, _ arguments: [String]) throws -> Result {
    let (process, output, errors) = try start(program, arguments)
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let errorText = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Result(status: process.terminationStatus, output: text, errors: errorText)
  }

  static func curl(_ arguments: String...) throws -> Result {
    try run("/usr/bin/curl", ["--silent", "--show-error", "--max-time", "5"] + arguments)
  }

  static let emulator: String? = {
    // The tests run in the runner's process or in a bundle; the executable is beside one of them.
    let arguments = CommandLine.arguments.prefix(3).map { URL(filePath: $0).deletingLastPathComponent() }
    return ([directory] + arguments).map { $0.appending(path: "fleet-engine-emulator").path() }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Runs the emulator, passes its URL to `body`, and ends it when `body` returns.
  static func with(_ options: [String] = [], _ body: (String) throws -> Void) throws -> Result {
    // The limit of descriptors is that of a shell, regardless of the limit of the tests.
    let program = ["--nofile=1024:", try #require(emulator)]
    let (process, output, errors) = try Self.start("/usr/bin/prlimit", program + options)
    var text = Data()
    while !text.contains(0x0A) {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      text.append(more)
    }
    let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first ?? ""
    defer { process.terminate() }
    try body(try #require(line.split(separator: " ").last.map(String.init), "\(line)"))
    process.terminate()
    text.append(output.fileHandleForReading.readDataToEndOfFile())
    let errorText = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Result(status: process.terminationStatus, output: String(decoding: text, as: UTF8.self), errors: errorText)
  }
}
