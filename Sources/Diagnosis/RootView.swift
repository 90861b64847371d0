// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
package import MessageBus
package import SerialPort
import SystemCalls

/// What only root sees of a machine: for the part of doctor that runs as the service, handed over in its environment.
package struct RootView: Codable, Equatable, Sendable {
  /// The variable that it is handed over in.
  static let variable = "FLEET_LOCATIOND_ROOT_VIEW"
  /// Bytes that the kernel takes in one variable, and some room (MAX_ARG_STRLEN).
  private static let longest = 100_000

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

  /// That which was handed to this process; nil when none was.
  package static var handedOver: RootView? {
    Environment.value(of: variable).flatMap { try? JSONDecoder().decode(RootView.self, from: Data($0.utf8)) }
  }

  /// A line for the environment of the process that it is for; nil when it is too long.
  var environmentLine: String? {
    guard let data = try? JSONEncoder().encode(self), data.count < RootView.longest else { return nil }
    return "\(RootView.variable)=\(String(decoding: data, as: UTF8.self))"
  }
}
