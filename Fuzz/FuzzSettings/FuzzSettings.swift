// SPDX-License-Identifier: Apache-2.0
import Configuration
import Vehicle
import FleetEngine
import Reporting

// scripts/fuzz.sh 60 FuzzSettings

/// The settings that an earlier run has stored.
private let kept = KeptSettings(
  path: "/kept.toml",
  bytes: Array(
    """
    [vehicle]
    provider_id = "p"
    vehicle_id = "v"
    [source]
    type = "serial"
    device = "/dev/gps0"
    [token]
    url = "https://t.example.com/{vehicle_id}"
    """.utf8))

/// Reads any bytes as a settings file and, after a zero byte, as a file of `conf.d`: settings or diagnostics, never a
/// trap. Settings are the same after they were stored and read again, and stored settings replace those with a mistake.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzSettings(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: count))
  let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
  let environment = ConfigurationEnvironment(
    readFile: { path, _ throws(ConfigurationEnvironment.FileProblem) in
      switch path {
      case "/f/f.toml": return parts.first ?? []
      case "/f/conf.d/x.toml": return parts.last ?? []
      default: throw .missing
      }
    },
    listDirectory: { _ throws(ConfigurationEnvironment.FileProblem) in parts.count > 1 ? ["x.toml"] : [] },
    variable: { _ in "value" }, hostname: { "box" })
  do throws(ConfigurationError) {
    let file = try SettingsFile.load(path: "/f/f.toml", environment: environment)
    precondition(file.settings.agent.reporting.heartbeat >= file.settings.agent.reporting.interval)
    precondition(!file.settings.vehicle.vehicleID.isEmpty)
    let again = KeptSettings(path: "/f/f.toml", bytes: Array(file.keptText.utf8))
    guard let same = try? again.settings(replacing: "/f/f.toml", environment: environment) else {
      fatalError("not kept")
    }
    precondition(same.settings.sources == file.settings.sources && same.canonicalText == file.canonicalText)
  } catch {
    // An error needs a message, and no line break, which would break the journal.
    precondition(!error.diagnostics.isEmpty)
    precondition(error.diagnostics.allSatisfy { !$0.description.contains("\n") })
    if let file = try? kept.settings(replacing: "/f/f.toml", environment: environment) {
      precondition(file.settings.vehicle.vehicleID == "v" && file.settings.vehicle.providerID == "p")
    }
  }
  return 0
}
