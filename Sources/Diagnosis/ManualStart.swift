// SPDX-License-Identifier: Apache-2.0
import Glibc
package import LocationDaemon
import MessageBus
import ServiceManager
import SystemCalls

/// A start from a shell with the settings of an installed service: it has neither the service's pause nor its locks, so
/// it is refused while that service runs or is paused.
package enum ManualStart {
  /// What is known of this process and the service.
  struct Situation {
    /// The unit of this process; nil if a user has started it.
    var ownUnit: String?
    /// Whether its unit runs, or is about to; nil if this user cannot find out.
    var isRunning: Bool?
    /// Whether it is paused; nil if this user cannot find out.
    var isPaused: Bool?
  }

  /// - Parameter path: of the main settings file.
  /// - Throws: exit code `inUse` with what to run instead.
  package static func check(settings path: String) throws(DaemonError) {
    // systemd sets STATE_DIRECTORY for a service, unless a drop-in empties StateDirectory=. In a container, the entry
    // point has the variable or is process 1, or there is no systemd.
    guard Environment.value(of: "STATE_DIRECTORY") == nil, getpid() != 1,
      FileAccess.error("/run/systemd/system", F_OK) == nil, let service = service(reading: path)
    else { return }
    let situation = Situation(
      ownUnit: ServiceUnit.current, isRunning: isRunning(service), isPaused: exists("\(service.stateDirectory)/paused"))
    if let message = refusal(of: service, situation) { throw DaemonError(ExitCode.inUse, message) }
  }

  /// Why the program is not started, and what to do; nil if it can be.
  static func refusal(of service: InstalledService, _ situation: Situation) -> String? {
    // The service itself, which systemd counts as running from the start of this process on.
    guard situation.ownUnit != service.unit else { return nil }
    let (unit, resume) = (service.unit, "fleet-locationctl resume\(service.option)")
    switch (situation.isPaused, situation.isRunning) {
    case (true?, false?):
      return "\(unit) is paused, so no position may leave this machine, and is stopped: systemctl start \(unit), then "
        + resume
    case (true?, _):
      return "\(unit) is paused, so no position may leave this machine: \(resume) ends the pause; "
        + "systemctl status \(unit) shows the service"
    case (_, true?):
      return
        "\(unit) runs with these settings, and two processes must not report one vehicle: systemctl status \(unit) "
        + "shows what it does; systemctl stop \(unit) before you start the program by hand"
    case (nil, _), (_, nil):
      return "user \(UserAccount.current.name) cannot see whether \(unit) runs or is paused: run this as root, or "
        + "systemctl status \(unit)"
    case (false?, false?): return nil
    }
  }

  /// The service that reads this file, which may be named by a link or a relative path.
  private static func service(reading path: String) -> InstalledService? {
    if let service = InstalledService(settings: path) { return service }
    return SystemFile.resolved(path).flatMap { InstalledService(settings: $0) }
  }

  private static func isRunning(_ service: InstalledService) -> Bool? {
    do throws(MessageBusError) {
      let bus = try MessageBus()
      return try !["inactive", "failed"].contains(ServiceStatus(of: service.unit, from: bus).active)
    } catch {
      // Without a bus daemon only root can connect to systemd; the service's user sees the lock.
      return try? DirectoryLocks.isHeld(in: service.runtimeDirectory)
    }
  }

  /// Nil if this user cannot find out.
  private static func exists(_ path: String) -> Bool? {
    guard let error = FileAccess.error(path, F_OK) else { return true }
    return [ENOENT, ENOTDIR].contains(error.code) ? false : nil
  }
}
