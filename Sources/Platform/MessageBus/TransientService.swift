// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import Timekeeping

/// A program to be run once in a unit of its own that has another unit's ``ServiceProperties``.
///
/// Its standard output and error are those of this process. Its arguments arrive as they are. The unit stays after the program's end, for its exit status, until
/// it is stopped. Its runtime directory, which is the other unit's too, stays in any case.
package struct TransientService: Sendable {
  /// As in `fleet-locationctl-123-00c0ffee00c0ffee.service`.
  package var unit: String
  /// What it is, for the journal, which every member of its groups reads.
  package var description: String
  /// The unit whose properties it gets.
  package var original: String
  /// The absolute path of the program.
  package var program: String
  /// The name that the program is called by first.
  package var arguments: [String]
  /// Added to the original's, as in `NAME=value`.
  package var environment: [String]
  /// Statuses that are answers; with any other the unit counts as failed.
  package var answers: [Int32]
  /// What it gets as its standard input; nil for nothing.
  package var input: Int32?
  /// After this systemd ends it.
  package var timeLimit: Duration

  package init(
    unit: String, description: String, original: String, program: String, arguments: [String], environment: [String],
    answers: [Int32], input: Int32? = nil, timeLimit: Duration
  ) {
    self.unit = unit
    self.description = description
    self.input = input
    self.original = original
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.answers = answers
    self.timeLimit = timeLimit
  }

  /// A name that no other run has.
  ///
  /// - Parameters:
  ///   - process: that asks for it.
  ///   - key: a random number.
  package static func name(of program: String, process: Int32, key: UInt64) -> String {
    let digits = String(key, radix: 16)
    return "\(program)-\(process)-\(String(repeating: "0", count: 16 - digits.count))\(digits).service"
  }

  /// The process that has asked for a unit; nil when its name is not one of ``name(of:process:key:)``.
  package static func process(of unit: String, program: String) -> Int32? {
    guard unit.hasPrefix("\(program)-") else { return nil }
    let parts = unit.dropFirst(program.count + 1).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let process = Int32(parts[0]), process > 0,
      let key = UInt64(parts[1].prefix(16), radix: 16), name(of: program, process: process, key: key) == unit
    else { return nil }
    return process
  }

  /// The arguments as systemd takes them: it reads `$` as the name of a variable.
  var writtenArguments: [String] {
    arguments.map { $0.split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$") }
  }
}

extension MessageBus {
  /// Starts it, and does not wait for it.
  ///
  /// - Throws: what `init` throws; `failed` when this systemd does not take a property.
  package func start(_ service: TransientService) throws(MessageBusError) {
    let properties = try allProperties(of: Unit(service.original), "Service")
    let request = try call("StartTransientUnit")
    try request.append(service.unit)
    try request.append("fail")
    try request.container("a", "(sv)") { request throws(MessageBusError) in
      try properties.each { name, type, value throws(MessageBusError) in
        guard ServiceProperties.copied.contains(name) else { return }
        if name == "SELinuxContext" { return try request.secondText(name, from: value) }
        try request.property(name, type, from: value)
      }
      try TransientService.append(service, to: request)
    }
    try request.container("a", "(sa(sv))") { _ throws(MessageBusError) in }
    _ = try send(request)
  }

  /// Ends it, if it runs, and has systemd forget it. Waits for its end, a little longer than systemd gives it. A unit that is
  /// not there is as good.
  package func stop(_ unit: String) {
    do throws(MessageBusError) {
      let request = try call("StopUnit")
      try request.append(unit)
      try request.append("replace")
      _ = try send(request)
      let object = try Unit(unit)
      // Before its end there is no failure that systemd could forget.
      for _ in 0..<TransientService.stopPolls {
        guard ["active", "activating", "deactivating"].contains(try string("ActiveState", of: object, "Unit")) else {
          break
        }
        usleep(TransientService.stopPause)
      }
      let reset = try call("ResetFailedUnit")
      try reset.append(unit)
      _ = try send(reset)
    } catch {
      // It is not there any more. What a bus that does not answer leaves behind is for the next run.
    }
  }

  /// Stops the units of earlier runs whose processes have died before they could.
  ///
  /// - Parameter programs: that units are named for.
  package func stopAbandoned(_ programs: [String]) {
    for program in programs {
      guard let request = try? call("ListUnitsByPatterns"), (try? request.container("a", "s", { _ in })) != nil,
        (try? request.container(
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
        // This process has none yet: one with its number is of an earlier process.
        if process == getpid() || kill(process, 0) != 0 && errno == ESRCH { stop(unit) }
      }
    }
  }

  /// The programs of a service's ExecStart=.
  package func programs(of unit: String) throws(MessageBusError) -> [String] {
    var programs: [String] = []
    try allProperties(of: Unit(unit), "Service").each { name, type, value throws(MessageBusError) in
      guard name == "ExecStart", type.hasPrefix("a("), type.hasSuffix(")") else { return }
      try value.eachFirst(String(type.dropFirst(2).dropLast())) { programs.append($0) }
    }
    return programs
  }

  /// Whether the program has not ended yet.
  package func isRunning(_ service: TransientService) throws(MessageBusError) -> Bool {
    let unit = try Unit(service.unit)
    switch try string("ActiveState", of: unit, "Unit") {
    case "active", "failed": return false
    // Before its start, or stopped by somebody else and forgotten.
    case "inactive": return try string("LoadState", of: unit, "Unit") == "loaded"
    default: return true
    }
  }
}

extension TransientService {
  /// How long its program may take to end, and how often to look meanwhile.
  fileprivate static let stopLimit = Duration.seconds(5)
  fileprivate static let stopPause: UInt32 = 20_000
  fileprivate static let stopPolls = 300

  /// What is its own.
  fileprivate static func append(
    _ service: TransientService, to request: borrowing BusMessage
  ) throws(MessageBusError) {
    try request.property("Description", "s") { value throws(MessageBusError) in
      try value.append(service.description)
    }
    // Its status can be read for as long as the unit stays.
    try request.property("Type", "s") { value throws(MessageBusError) in try value.append("oneshot") }
    try request.property("RemainAfterExit", "b") { value throws(MessageBusError) in try value.append(b: true) }
    try request.property("SuccessExitStatus", "(aiai)") { value throws(MessageBusError) in
      try value.container("r", "aiai") { value throws(MessageBusError) in
        try value.container("a", "i") { value throws(MessageBusError) in
          for status in service.answers { try value.append(i: status) }
        }
        // How `stop` ends it.
        try value.container("a", "i") { value throws(MessageBusError) in try value.append(i: SIGTERM) }
      }
    }
    try request.property("TimeoutStartUSec", "t") { value throws(MessageBusError) in
      try value.append(t: UInt64(clamping: service.timeLimit.nanoseconds / 1000))
    }
    try request.property("TimeoutStopUSec", "t") { value throws(MessageBusError) in
      try value.append(t: UInt64(clamping: stopLimit.nanoseconds / 1000))
    }
    // Without this the end of this unit removes the directory of the service that runs.
    try request.property("RuntimeDirectoryPreserve", "s") { value throws(MessageBusError) in try value.append("yes") }
    try request.property("Environment", "as") { value throws(MessageBusError) in
      try value.container("a", "s") { value throws(MessageBusError) in
        for line in service.environment { try value.append(line) }
      }
    }
    let descriptors = [
      ("StandardInput", service.input ?? -1), ("StandardOutput", STDOUT_FILENO), ("StandardError", STDERR_FILENO),
    ]
    for (name, descriptor) in descriptors where fcntl(descriptor, F_GETFD) >= 0 {
      try request.property("\(name)FileDescriptor", "h") { value throws(MessageBusError) in
        try value.append(h: descriptor)
      }
    }
    try request.property("ExecStart", "a(sasb)") { value throws(MessageBusError) in
      try value.container("a", "(sasb)") { value throws(MessageBusError) in
        try value.container("r", "sasb") { value throws(MessageBusError) in
          try value.append(service.program)
          try value.container("a", "s") { value throws(MessageBusError) in
            for argument in service.writtenArguments { try value.append(argument) }
          }
          // A failure is one.
          try value.append(b: false)
        }
      }
    }
  }
}
