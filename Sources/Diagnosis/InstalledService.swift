// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// The systemd unit that belongs to a settings file in /etc/fleet-locationd.
package struct InstalledService: Equatable, Sendable {
  /// The package, its main service and the directory of its settings.
  package static let name = "fleet-locationd"

  /// Such as `fleet-locationd.service`, or `fleet-locationd@van.service` for the instance `van`.
  package let unit: String
  /// The directory in /run with the control socket and the lock of its daemon.
  let runtimeDirectory: String
  /// The directory in /var/lib with its pause.
  let stateDirectory: String
  /// The option of `fleet-locationctl` for it, with a leading space; empty for the service of one vehicle.
  package let option: String
  /// The control socket of its daemon.
  package var socket: String { "\(runtimeDirectory)/control.sock" }
  /// The path of its main settings file.
  package let settings: String

  /// The path by which the installed service reads a file, which may be given relative to the current directory.
  ///
  /// - Parameter resolving: returns the absolute path without links; nil if there is no such file.
  /// - Returns: the same path if the file is not in the directory of the installed services.
  package static func settingsPath(
    _ path: String, resolving: (String) -> String? = SystemFile.resolved
  ) -> String {
    let directory = "/etc/\(name)"
    guard let file = path.split(separator: "/").last, let resolved = resolving(AtomicFile.directory(of: path)),
      resolved == resolving(directory)
    else { return path }
    return "\(directory)/\(file)"
  }

  /// - Parameter path: of the main settings file.
  /// - Returns: nil when no unit of the package reads this file.
  package init?(settings path: String) {
    let directory = "/etc/\(InstalledService.name)/"
    guard path.hasPrefix(directory), path.hasSuffix(".toml") else { return nil }
    let instance = path.dropFirst(directory.utf8.count).dropLast(5)
    guard !instance.isEmpty, !instance.contains("/") else { return nil }
    unit = InstalledService.unit(for: path)
    settings = path
    let isMain = instance == InstalledService.name
    let directoryName = InstalledService.name + (isMain ? "" : "-\(instance)")
    runtimeDirectory = "/run/\(directoryName)"
    stateDirectory = "/var/lib/\(directoryName)"
    option = isMain ? "" : " --instance \(instance)"
  }

  /// - Parameter path: of a daemon's socket.
  /// - Returns: nil if it does not belong to a unit of the package.
  package init?(socket path: String) {
    let prefix = "/run/\(InstalledService.name)"
    guard path.hasPrefix(prefix), path.hasSuffix("/control.sock") else { return nil }
    let suffix = path.dropFirst(prefix.utf8.count).dropLast("/control.sock".utf8.count)
    guard suffix.isEmpty || suffix.hasPrefix("-") && !suffix.contains("/") else { return nil }
    let instance = suffix.isEmpty ? InstalledService.name : String(suffix.dropFirst())
    self.init(settings: "/etc/\(InstalledService.name)/\(instance).toml")
  }

  /// The names of the instances that have a settings file, in order.
  package static var instances: [String] {
    (SystemFile.names(in: "/etc/\(name)") ?? []).filter { $0.hasSuffix(".toml") }.map { String($0.dropLast(5)) }
      .filter { $0 != name }.sorted()
  }

  /// The unit for the name of a settings file, in any directory: `fleet-locationd@NAME.service` reads `NAME.toml`.
  static func unit(for settings: String) -> String {
    let file = settings.split(separator: "/").last ?? ""
    let instance = file.hasSuffix(".toml") ? file.dropLast(5) : ""
    return ["", Substring(name)].contains(instance) ? "\(name).service" : "\(name)@\(instance).service"
  }
}
