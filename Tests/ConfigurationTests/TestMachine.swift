// SPDX-License-Identifier: Apache-2.0
import Authorization
import Vehicle

@testable import Configuration

/// A machine with the files, variables and host name that the settings refer to.
struct TestMachine {
  var files: [String: [UInt8]] = [:]
  var problems: [String: ConfigurationEnvironment.FileProblem] = [:]
  var variables: [String: String] = [:]
  var hostname: String?

  var environment: ConfigurationEnvironment {
    ConfigurationEnvironment(
      readFile: { path, limit throws(ConfigurationEnvironment.FileProblem) in
        if let problem = problems[path] { throw problem }
        guard let bytes = files[path] else { throw .missing }
        guard bytes.count <= limit else { throw .tooLarge }
        return bytes
      },
      listDirectory: { path throws(ConfigurationEnvironment.FileProblem) in
        if let problem = problems[path] { throw problem }
        return files.keys.filter { $0.hasPrefix(path + "/") }.map { String($0.dropFirst(path.count + 1)) }
      }, variable: { variables[$0] }, hostname: { hostname })
  }

  /// The machine with files added that have a certificate and its key.
  func with(pem paths: [String]) -> TestMachine {
    var machine = self
    for path in paths { machine.files[path] = Array("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n".utf8) }
    return machine
  }

  /// Loads `/etc/f/f.toml`.
  func load(
    needsVehicleID: Bool = true, using section: SettingSection? = nil
  ) throws(ConfigurationError) -> SettingsFile {
    try SettingsFile.load(
      path: "/etc/f/f.toml", environment: environment, needsVehicleID: needsVehicleID, using: section)
  }

  /// The messages about a settings file with this text: one for each problem.
  func messages(for text: String, with extras: [String: String] = [:]) -> [String] {
    do throws(ConfigurationError) {
      _ = try adding(text, extras).load()
      return []
    } catch {
      return error.diagnostics.map(\.description)
    }
  }

  func settings(for text: String, with extras: [String: String] = [:]) throws(ConfigurationError) -> Settings {
    try adding(text, extras).load().settings
  }

  func adding(_ text: String, _ extras: [String: String] = [:]) -> TestMachine {
    var machine = self
    machine.files["/etc/f/f.toml"] = Array(text.utf8)
    for (name, text) in extras { machine.files["/etc/f/conf.d/\(name)"] = Array(text.utf8) }
    return machine
  }
}

/// The minimal settings as text, with lines replaced or added. Each section begins on a known line.
func minimal(
  vehicle: String = "vehicle_id = \"truck-17\"", source: String = "type = \"serial\"\ndevice = \"/dev/gps0\"",
  token: String = "url = \"https://t.example.com/{vehicle_id}\"", rest: String = ""
) -> String {
  "[vehicle]\nprovider_id = \"my-project\"\n\(vehicle)\n[source]\n\(source)\n[token]\n\(token)\n\(rest)\n"
}

/// The token provider's endpoint in the settings.
func tokenEndpoint(_ settings: Settings) throws -> TokenEndpoint {
  guard case .http(let endpoint) = settings.agent.tokenProvider else {
    throw ConfigurationError(diagnostics: [], warnings: [])
  }
  return endpoint
}
