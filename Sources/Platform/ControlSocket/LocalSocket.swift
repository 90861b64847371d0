// SPDX-License-Identifier: Apache-2.0

/// The daemon's sockets for other programs on the machine.
package nonisolated enum LocalSocket: Sendable {
  /// For requests and for events, without coordinates. It is in the runtime directory of the daemon's service.
  case control
  /// For positions, if the settings enable it. It is in a directory that the services of all daemons share.
  case positions

  /// The directory of the sockets for positions, as the package creates it.
  package static let positionsDirectory = "/run/fleet-locationd.positions"

  /// The path of the socket of the daemon with this runtime directory.
  ///
  /// - Parameter positions: the directory of the sockets for positions.
  package func path(of runtimeDirectory: String, positions: String = positionsDirectory) -> String {
    switch self {
    case .control: "\(runtimeDirectory)/control.sock"
    case .positions: "\(positions)/\(runtimeDirectory.split(separator: "/").last ?? "").sock"
    }
  }

  /// The group whose members may connect.
  var group: String {
    switch self {
    case .control: "fleet-locationd"
    case .positions: "fleet-locationd-positions"
    }
  }

  /// What to say if no process listens at the path.
  func absenceMessage(at path: String) -> String {
    let unit = "systemctl status \(unit(at: path))"
    return switch self {
    case .control: "the daemon is not running (no process listens at \(path)): \(unit)"
    case .positions:
      "no process listens at \(path): the daemon is not running (\(unit)), or its settings lack positions.socket = true"
    }
  }

  /// The unit of the daemon: for `/run/fleet-locationd-NAME` it is `fleet-locationd@NAME`.
  private func unit(at path: String) -> String {
    let name = "fleet-locationd"
    let parts = path.split(separator: "/")
    let own: Substring =
      switch self {
      case .control: parts.dropLast().last ?? ""
      case .positions: parts.last?.prefix { $0 != "." } ?? ""
      }
    return own.hasPrefix("\(name)-") ? "\(name)@\(own.dropFirst(name.utf8.count + 1))" : name
  }
}
