// SPDX-License-Identifier: Apache-2.0
import Vehicle
package import Configuration
import Reporting
import EventLoop
import FleetEngine
import LocationDaemon
import MessageBus
import Timekeeping

/// The running service: the state that systemd and the daemon report.
package struct ServiceCheck: Check {
  private let service: InstalledService?
  private let file: SettingsFile?
  private let environment: Doctor.Environment
  private let requestStatus: () -> ServiceFindings.DaemonResponse

  /// - Parameters:
  ///   - service: nil when no unit of the package reads the settings; then systemd is not asked.
  ///   - file: the settings; nil when they cannot be read.
  ///   - requestStatus: requests the daemon's status, within some seconds.
  package init(
    _ service: InstalledService?, settings file: SettingsFile?, in environment: Doctor.Environment,
    requestStatus: @escaping () -> ServiceFindings.DaemonResponse
  ) {
    self.service = service
    self.file = file
    self.environment = environment
    self.requestStatus = requestStatus
  }

  package let subject = Doctor.Subject.service
  package var title: String { "Service" + (service.map { ": \($0.unit)" } ?? "") }

  package func run(_ report: (Finding) -> Void) {
    let loop = environment.loop
    let end = loop.now.boot + ServiceFindings.startTimeout
    var daemon = requestStatus()
    while ServiceFindings.isStarting(daemon), loop.now.boot < end {
      do {
        try loop.run(until: loop.now.boot + .seconds(1)) { false }
      } catch {
        return report(.fail(.checkFailed, "\(error)", "Close other programs, and try again"))
      }
      daemon = requestStatus()
    }
    let heartbeat = file?.settings.agent.reporting.heartbeat ?? ReportingPolicy.Configuration().heartbeat
    let unit = service.map(unitStatus)
    let status = try? unit?.get()
    let findings = ServiceFindings.findings(
      unit: unit, outdated: environment.rootObservations?.outdated ?? status.map(ServiceCredentials.outdated) ?? [],
      exposed: environment.rootObservations?.exposed ?? status.map(ServiceCredentials.exposed) ?? [],
      faults: CredentialFault.known(
        of: status, environment.rootObservations, isService: ServiceImpersonation.isActive), daemon: daemon,
      vehicle: file?.settings.vehicle.vehicleID, hash: service == nil ? nil : file?.hash, heartbeat: heartbeat)
    for finding in findings { report(finding) }
  }

  private func unitStatus(_ service: InstalledService) -> Result<ServiceStatus, MessageBusError> {
    Result { () throws(MessageBusError) in
      do throws(MessageBusError) {
        let bus = try MessageBus()
        return try ServiceStatus(of: service.unit, from: bus)
      } catch {
        // Without a bus daemon only root can connect to systemd.
        guard let status = environment.rootObservations?.status else { throw error }
        return status
      }
    }
  }
}
