// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Glibc
package import MessageBus
package import SerialPort
import SystemCalls

/// What only root sees of a machine: for the part of doctor that runs as the service, handed over on its standard
/// input. Its environment would be there for every user to read (`systemctl show`).
package struct RootView: Codable, Equatable, Sendable {
  /// Bytes that a pipe holds before it is read.
  private static let longest = 1 << 20
  /// F_SETPIPE_SZ of fcntl(2), which Glibc's module does not have.
  private static let setPipeSize: Int32 = 1031

  /// Which processes have which devices open.
  package var holders = DeviceHolders()
  /// What the kernel calls its devices.
  package var classes = DeviceClasses()
  /// What systemd knows of the unit.
  package var status: ServiceStatus
  /// The names of the credentials that have changed since the service was started.
  package var outdated: [String]

  /// Looks at the machine.
  ///
  /// - Parameter status: of the service.
  package init(_ status: ServiceStatus) {
    self.status = status
    outdated = ServiceCredentials.outdated(status)
  }

  /// That which is handed to this process, and can be read once; nil when none is.
  package static var handedOver: RootView? {
    guard ServiceStandIn.isThis, let input = try? Descriptor.duplicate(of: STDIN_FILENO) else { return nil }
    return read(from: input)
  }

  /// Reads to the end, which a pipe has when nobody can write to it any more.
  static func read(from input: borrowing Descriptor) -> RootView? {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case .bytes(let count) = try? input.read(into: &buffer), data.count <= longest {
      data.append(contentsOf: buffer.prefix(count))
    }
    return try? JSONDecoder().decode(RootView.self, from: data)
  }

  /// A pipe that it can be read from, and then the end; nil when the kernel has no room for it.
  var pipe: Descriptor? {
    guard let data = try? JSONEncoder().encode(self), data.count < RootView.longest else { return nil }
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { return nil }
    let output = Descriptor(owning: ends[0])
    let input = Descriptor(owning: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // As root; nobody reads before everything is written.
    _ = fcntl(input.rawValue, RootView.setPipeSize, Int32(RootView.longest))
    _ = fcntl(input.rawValue, F_SETFL, O_NONBLOCK)
    guard (try? Descriptor.write(Array(data), to: input.rawValue)) != nil else { return nil }
    return output
  }
}
