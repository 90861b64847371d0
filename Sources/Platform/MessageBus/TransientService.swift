// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import Timekeeping

/// A program to be run once in a unit of its own that has another unit's ``ServiceProperties``.
///
/// Its standard output and error are those of this process. The unit stays after the program's end, for its exit status, until
/// it is stopped. Its runtime directory, which is the other unit's too, stays in any case.
package struct TransientService: Sendable {
  /// As in `fleet-locationctl-123.service`.
  package var unit: String
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
  /// After this systemd ends it.
  package var timeLimit: Duration

  package init(
    unit: String, original: String, program: String, arguments: [String], environment: [String], answers: [Int32],
    timeLimit: Duration
  ) {
    self.unit = unit
    self.original = original
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.answers = answers
    self.timeLimit = timeLimit
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
        try request.property(name, type, from: value)
      }
      try TransientService.append(service, to: request)
    }
    try request.container("a", "(sa(sv))") { _ throws(MessageBusError) in }
    _ = try send(request)
  }

  /// Ends it, if it runs, and has systemd forget it. A unit that is not there is as good.
  package func stop(_ service: TransientService) {
    for method in ["StopUnit", "ResetFailedUnit"] {
      guard let request = try? call(method), (try? request.append(service.unit)) != nil else { continue }
      if method == "StopUnit" { try? request.append("replace") }
      _ = try? send(request)
    }
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
  /// What is its own.
  fileprivate static func append(
    _ service: TransientService, to request: borrowing BusMessage
  ) throws(MessageBusError) {
    try request.property("Description", "s") { value throws(MessageBusError) in
      try value.append("\(service.arguments.joined(separator: " ")), as \(service.original)")
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
    // Without this the end of this unit removes the directory of the service that runs.
    try request.property("RuntimeDirectoryPreserve", "s") { value throws(MessageBusError) in try value.append("yes") }
    try request.property("Environment", "as") { value throws(MessageBusError) in
      try value.container("a", "s") { value throws(MessageBusError) in
        for line in service.environment { try value.append(line) }
      }
    }
    for (name, descriptor) in [("StandardOutput", STDOUT_FILENO), ("StandardError", STDERR_FILENO)]
    where fcntl(descriptor, F_GETFD) >= 0 {
      try request.property("\(name)FileDescriptor", "h") { value throws(MessageBusError) in
        try value.append(h: descriptor)
      }
    }
    try request.property("ExecStart", "a(sasb)") { value throws(MessageBusError) in
      try value.container("a", "(sasb)") { value throws(MessageBusError) in
        try value.container("r", "sasb") { value throws(MessageBusError) in
          try value.append(service.program)
          try value.container("a", "s") { value throws(MessageBusError) in
            for argument in service.arguments { try value.append(argument) }
          }
          // A failure is one.
          try value.append(b: false)
        }
      }
    }
  }
}
