// SPDX-License-Identifier: Apache-2.0
import Glibc
import MessageBus
import SystemCalls

/// Why nothing listens at a control socket.
package enum StoppedService {
  /// - Parameter socket: of the daemon.
  /// - Returns: what is wrong, and what to do on a second line; nil if the socket does not belong to an installed
  ///   service, or systemd cannot be asked.
  package static func explanation(socket: String) -> String? {
    guard let service = InstalledService(socket: socket) else { return nil }
    let isMissing = FileAccess.error(service.settings, F_OK)?.code == ENOENT
    guard let bus = try? MessageBus(timeLimit: .seconds(2)),
      let status = try? ServiceStatus(of: service.unit, from: bus)
    else { return explanation(service, nil, isSettingsFileMissing: isMissing, InstalledService.instances) }
    return explanation(service, status, isSettingsFileMissing: isMissing, InstalledService.instances)
  }

  /// - Parameters:
  ///   - status: nil if systemd cannot be asked.
  ///   - instances: the names of those that have settings.
  static func explanation(
    _ service: InstalledService, _ status: ServiceStatus?, isSettingsFileMissing: Bool, _ instances: [String] = []
  ) -> String? {
    if isSettingsFileMissing, status?.load ?? "loaded" == "loaded" {
      let advice =
        service.option.isEmpty && !instances.isEmpty
        ? "Add --instance NAME for one of the instances of this machine: \(instances.joined(separator: ", "))"
        : "Write it with: sudo fleet-locationctl setup\(service.option)"
      return "\(service.unit) is not started, because its settings file \(service.settings) does not exist\n"
        + advice
    }
    guard let status else { return nil }
    let finding = ServiceFindings.state(status)
    guard finding.severity != .fail else { return finding.message }
    return Finding.fail(
      .daemonUnreachable, ServiceFindings.unreachable(service.unit, service.socket),
      ServiceFindings.unreachableAdvice(service.unit)
    ).message
  }
}
