// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Testing

@testable import MessageBus

/// The properties that a transient unit copies from the service, so that it has the same permissions.
struct ServicePropertiesTests {
  private static let unit = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "systemd/fleet-locationd.service")

  /// The property of a directive in a unit file, if the names differ.
  private static let names = [
    "EnvironmentFile": "EnvironmentFiles", "CPUQuota": "CPUQuotaPerSecUSec",
  ]

  /// Directives that do not affect permissions: how the service is started, supervised and accounted. `RemoveIPC` would
  /// remove IPC objects of the running service, and `RuntimeDirectoryPreserve` is replaced for a similar reason.
  private static let omitted: Set<String> = [
    "Type", "ExecStart", "ExecReload", "Restart", "RestartSec", "RestartPreventExitStatus", "OOMPolicy", "WatchdogSec",
    "KillMode", "TimeoutStopSec", "RuntimeDirectoryPreserve", "RemoveIPC", "IPAccounting",
  ]

  /// The directives of the packaged unit's section [Service].
  private static func directives() throws -> Set<String> {
    let lines = try String(contentsOf: unit, encoding: .utf8).split(separator: "\n")
    let section = lines.drop { $0 != "[Service]" }.dropFirst().prefix { !$0.hasPrefix("[") }
    return Set(section.filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: "=").first.map(String.init) })
  }

  @Test("every directive of the unit is copied, or omitted with a reason")
  func complete() throws {
    let directives = try Self.directives()
    expect(directives.count > 40)
    let copied = directives.filter { ServiceProperties.copied.contains(Self.names[$0] ?? $0) }
    expect(directives.subtracting(copied).subtracting(Self.omitted).isEmpty)
    expect(Self.omitted.isSubset(of: directives))
  }

  @Test(
    "credentials, environment, user and directories are copied; properties of start, supervision and cleanup are not"
  )
  func values() {
    for name in [
      "User", "LoadCredential", "ImportCredential", "ImportCredentialEx", "SELinuxContext", "SetCredential",
      "Environment", "EnvironmentFiles", "ProtectHome", "ProtectSystem",
      "ReadWritePaths", "DeviceAllow", "SystemCallFilter", "StateDirectoryMode", "RuntimeDirectory", "BindPaths",
    ] { expect(ServiceProperties.copied.contains(name)) }
    for name in [
      "ExecStart", "ExecStartPre", "ExecReload", "ExecStopPost", "Restart", "Type", "WatchdogUSec", "BusName",
      "NotifyAccess", "RuntimeDirectoryPreserve", "RemoveIPC", "SuccessExitStatus",
    ] { expect(!ServiceProperties.copied.contains(name)) }
  }
}
