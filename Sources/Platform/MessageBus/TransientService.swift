// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import Timekeeping

/// A program that is run once in a transient unit, usually with the ``ServiceProperties`` of another unit.
///
/// Arguments are passed unchanged. The unit remains after the program's end, so that its exit status can be read, until
/// it is stopped. Its runtime directory is also the other unit's, so it is preserved.
package struct TransientService: Sendable {
  /// As in `fleet-locationctl-123-00c0ffee00c0ffee.service`.
  package var unit: String
  /// The description in the journal, which every member of the journal's groups can read.
  package var description: String
  /// The unit whose properties it copies; nil for none: the program runs as root, without a sandbox.
  package var original: String?
  /// The absolute path of the program.
  package var program: String
  /// The arguments, beginning with the program's name.
  package var arguments: [String]
  /// Variables that are added to the original's environment, as in `NAME=value`.
  package var environment: [String]
  /// Exit statuses that are results; with any other status, the unit counts as failed.
  package var successExitStatuses: [Int32]
  /// The program's standard input; nil for /dev/null.
  package var input: Int32?
  /// The program's standard output, by default that of this process.
  package var output: Int32 = STDOUT_FILENO
  /// The program's standard error, by default that of this process.
  package var errors: Int32 = STDERR_FILENO
  /// The timeout after which systemd stops the program.
  package var timeLimit: Duration

  package init(
    unit: String, description: String, original: String?, program: String, arguments: [String], environment: [String],
    successExitStatuses: [Int32], input: Int32? = nil, timeLimit: Duration
  ) {
    self.unit = unit
    self.description = description
    self.input = input
    self.original = original
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.successExitStatuses = successExitStatuses
    self.timeLimit = timeLimit
  }

  /// A unique name.
  ///
  /// - Parameters:
  ///   - process: the requesting process.
  ///   - key: a random number.
  package static func name(of program: String, process: Int32, key: UInt64) -> String {
    let digits = String(key, radix: 16)
    return "\(program)-\(process)-\(String(repeating: "0", count: 16 - digits.count))\(digits).service"
  }

  /// The process that requested a unit; nil if the unit's name does not have the form of ``name(of:process:key:)``.
  package static func process(of unit: String, program: String) -> Int32? {
    guard unit.hasPrefix("\(program)-") else { return nil }
    let parts = unit.dropFirst(program.count + 1).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let process = Int32(parts[0]), process > 0,
      let key = UInt64(parts[1].prefix(16), radix: 16), name(of: program, process: process, key: key) == unit
    else { return nil }
    return process
  }

  /// The arguments, escaped for systemd, which expands variables that begin with `$`.
  var escapedArguments: [String] {
    arguments.map { $0.split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$") }
  }
}

extension MessageBus {
  /// Starts the unit, without waiting.
  ///
  /// - Throws: the errors of `init`; `failed` if this version of systemd does not support a property.
  package func start(_ service: TransientService) throws(MessageBusError) {
    let request = try methodCall("StartTransientUnit")
    try request.append(service.unit)
    try request.append("fail")
    try request.appendContainer("a", "(sv)") { request throws(MessageBusError) in
      if let original = service.original { try appendProperties(of: original, to: request) }
      try TransientService.append(service, to: request)
    }
    try request.appendContainer("a", "(sa(sv))") { _ throws(MessageBusError) in }
    _ = try send(request)
  }

  /// Appends copies of the ``ServiceProperties`` of a unit.
  private func appendProperties(of unit: String, to request: borrowing BusMessage) throws(MessageBusError) {
    try allProperties(of: Unit(unit), "Service").eachProperty { name, type, value throws(MessageBusError) in
      guard ServiceProperties.copied.contains(name) else { return }
      if name == "SELinuxContext" { return try request.appendTextProperty(name, fromPairIn: value) }
      try request.appendProperty(name, type, from: value)
    }
  }

  /// Stops and removes the unit. Waits for its end, slightly longer than systemd's timeout. Has no effect if the unit
  /// does not exist.
  package func stop(_ unit: String) {
    do throws(MessageBusError) {
      let request = try methodCall("StopUnit")
      try request.append(unit)
      try request.append("replace")
      _ = try send(request)
      let object = try Unit(unit)
      // The failed state can be reset only after the unit's end.
      for _ in 0..<TransientService.maximumStopPolls {
        guard ["active", "activating", "deactivating"].contains(try string("ActiveState", of: object, "Unit")) else {
          break
        }
        usleep(TransientService.stopPollInterval)
      }
      let reset = try methodCall("ResetFailedUnit")
      try reset.append(unit)
      _ = try send(reset)
    } catch {
      // The unit no longer exists, or the bus does not respond; in that case the next run cleans up.
    }
  }

  /// Stops the units of previous runs whose processes have died.
  ///
  /// - Parameter programs: the program names of units.
  package func stopAbandoned(_ programs: [String]) {
    for program in programs {
      guard let request = try? methodCall("ListUnitsByPatterns"),
        (try? request.appendContainer("a", "s", { _ in })) != nil,
        (try? request.appendContainer(
          "a", "s",
          { request throws(MessageBusError) in
            try request.append("\(program)-*.service")
          })) != nil,
        let answer = try? send(request)
      else { continue }
      var units: [String] = []
      try? answer.eachFirst("ssssssouso") { units.append($0) }
      for unit in units {
        guard let process = TransientService.process(of: unit, program: program) else { continue }
        // This process has no unit yet: a unit with its ID belongs to an earlier process.
        if process == getpid() || kill(process, 0) != 0 && errno == ESRCH { stop(unit) }
      }
    }
  }

  /// The programs in a service's ExecStart=.
  package func programs(of unit: String) throws(MessageBusError) -> [String] {
    var programs: [String] = []
    try allProperties(of: Unit(unit), "Service").eachProperty { name, type, value throws(MessageBusError) in
      guard name == "ExecStart", type.hasPrefix("a("), type.hasSuffix(")") else { return }
      try value.eachFirst(String(type.dropFirst(2).dropLast())) { programs.append($0) }
    }
    return programs
  }

  /// Whether the program is still running.
  package func isRunning(_ service: TransientService) throws(MessageBusError) -> Bool {
    let unit = try Unit(service.unit)
    switch try string("ActiveState", of: unit, "Unit") {
    case "active", "failed": return false
    // Either the unit has not started yet, or another program has stopped and removed it.
    case "inactive": return try string("LoadState", of: unit, "Unit") == "loaded"
    default: return true
    }
  }
}

extension TransientService {
  /// The stop timeout, the polling interval in microseconds, and the maximum number of polls.
  fileprivate static let stopTimeout = Duration.seconds(5)
  fileprivate static let stopPollInterval: UInt32 = 20_000
  fileprivate static let maximumStopPolls = 300

  /// Appends the unit's own properties.
  fileprivate static func append(
    _ service: TransientService, to request: borrowing BusMessage
  ) throws(MessageBusError) {
    try request.appendProperty("Description", "s") { value throws(MessageBusError) in
      try value.append(service.description)
    }
    // With these, the status can be read as long as the unit exists.
    try request.appendProperty("Type", "s") { value throws(MessageBusError) in try value.append("oneshot") }
    try request.appendProperty("RemainAfterExit", "b") { value throws(MessageBusError) in try value.append(b: true) }
    try request.appendProperty("SuccessExitStatus", "(aiai)") { value throws(MessageBusError) in
      try value.appendContainer("r", "aiai") { value throws(MessageBusError) in
        try value.appendContainer("a", "i") { value throws(MessageBusError) in
          for status in service.successExitStatuses { try value.append(i: status) }
        }
        // The signal that `stop` sends.
        try value.appendContainer("a", "i") { value throws(MessageBusError) in try value.append(i: SIGTERM) }
      }
    }
    try request.appendProperty("TimeoutStartUSec", "t") { value throws(MessageBusError) in
      try value.append(t: UInt64(clamping: service.timeLimit.nanoseconds / 1000))
    }
    try request.appendProperty("TimeoutStopUSec", "t") { value throws(MessageBusError) in
      try value.append(t: UInt64(clamping: stopTimeout.nanoseconds / 1000))
    }
    // Otherwise stopping this unit would remove the directory of the running service.
    try request.appendProperty("RuntimeDirectoryPreserve", "s") { value throws(MessageBusError) in
      try value.append("yes")
    }
    try request.appendProperty("Environment", "as") { value throws(MessageBusError) in
      try value.appendContainer("a", "s") { value throws(MessageBusError) in
        for line in service.environment { try value.append(line) }
      }
    }
    let descriptors = [
      ("StandardInput", service.input ?? -1), ("StandardOutput", service.output), ("StandardError", service.errors),
    ]
    for (name, descriptor) in descriptors where fcntl(descriptor, F_GETFD) >= 0 {
      try request.appendProperty("\(name)FileDescriptor", "h") { value throws(MessageBusError) in
        try value.append(h: descriptor)
      }
    }
    try request.appendProperty("ExecStart", "a(sasb)") { value throws(MessageBusError) in
      try value.appendContainer("a", "(sasb)") { value throws(MessageBusError) in
        try value.appendContainer("r", "sasb") { value throws(MessageBusError) in
          try value.append(service.program)
          try value.appendContainer("a", "s") { value throws(MessageBusError) in
            for argument in service.escapedArguments { try value.append(argument) }
          }
          // Failures are not ignored.
          try value.append(b: false)
        }
      }
    }
  }
}
