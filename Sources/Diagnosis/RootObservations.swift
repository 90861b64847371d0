// SPDX-License-Identifier: Apache-2.0
import Glibc
import JSON
package import MessageBus
package import SerialPort
import SystemCalls

/// What only root can see, for the part of `doctor` that runs as the service. It is passed on standard input, because
/// every user could read the environment (`systemctl show`).
package struct RootObservations: Codable, Equatable, Sendable {
  /// Maximum size in bytes; a pipe can hold this much before it is read.
  private static let maxSize = 1 << 20
  /// F_SETPIPE_SZ of fcntl(2), which Glibc's module does not have.
  private static let setPipeSize: Int32 = 1031

  /// Which processes have which devices open.
  package var holders = DeviceHolders()
  /// The kernel's device classes.
  package var classes = DeviceClasses()
  /// The serial ports: the service's sandbox hides /proc/tty/driver/serial, which has the built-in ones.
  var ports = ReceiverSearch.ports
  /// systemd's status of the unit.
  package var status: ServiceStatus
  /// The names of the credentials that have changed since the service was started.
  package var outdated: [String]
  /// The files of credentials that every user can read.
  package var exposed: [String]
  /// What is wrong with the files of credentials.
  var faults: [CredentialFault]

  /// Collects the observations.
  ///
  /// - Parameter status: of the service.
  package init(_ status: ServiceStatus) {
    self.status = status
    outdated = ServiceCredentials.outdated(status)
    exposed = ServiceCredentials.exposed(status)
    faults = CredentialFault.all(status)
  }

  /// The observations that were passed to this process on standard input, which can be read once; nil if there are
  /// none.
  package static func readStandardInput() -> RootObservations? {
    guard ServiceImpersonation.isActive, let input = try? Descriptor.duplicate(of: STDIN_FILENO) else { return nil }
    return read(from: input)
  }

  /// Reads to the end of the pipe.
  static func read(from input: borrowing Descriptor) -> RootObservations? {
    var data: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case .bytes(let count) = try? input.read(into: &buffer), data.count <= maxSize {
      data.append(contentsOf: buffer.prefix(count))
    }
    return try? JSONValue(parsing: data).decode()
  }

  /// The reading end of a pipe that holds the encoded observations; its writing end is closed. Nil if they are too
  /// large, or the kernel has no memory for the pipe.
  func makePipe() -> Descriptor? {
    guard let data = try? JSONValue(encoding: self).encoded, data.count < RootObservations.maxSize else { return nil }
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { return nil }
    let output = Descriptor(owning: ends[0])
    let input = Descriptor(owning: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // The pipe must hold everything, because it is read later; root may enlarge it.
    _ = fcntl(input.rawValue, RootObservations.setPipeSize, Int32(RootObservations.maxSize))
    _ = fcntl(input.rawValue, F_SETFL, O_NONBLOCK)
    guard (try? Descriptor.write(data, to: input.rawValue)) != nil else { return nil }
    return output
  }
}
