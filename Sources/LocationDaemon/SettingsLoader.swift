// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Delivery
import Glibc
import SystemCalls
import TokenStore

/// The settings files of a daemon, and what an earlier run has kept of them.
package struct SettingsLoader {
  /// Of the file with the last settings that led to an accepted update.
  private static let keptName = "kept-settings.toml"
  /// Bytes; the settings files themselves may have as many.
  private static let longestKept = 1_000_000

  private let path: String
  private let environment: ConfigurationEnvironment
  /// Nil when the service has no directory of its own.
  private let keptPath: String?

  /// - Parameter path: the main settings file.
  package init(path: String, environment: ConfigurationEnvironment = .system) {
    self.path = path
    self.environment = environment
    keptPath = environment.variable("STATE_DIRECTORY")?.split(separator: ":").first
      .map { "\($0)/\(SettingsLoader.keptName)" }
  }

  /// Reads the settings, and the credentials that they name.
  ///
  /// - Throws: exit code `configuration`, with every mistake on a line of its own.
  package func load() throws(DaemonError) -> SettingsFile {
    let file: SettingsFile
    do {
      file = try SettingsFile.load(path: path, environment: environment)
    } catch {
      throw DaemonError(ExitCode.configuration, error.message, cause: error)
    }
    _ = try VehicleAgent.Configuration(file.settings)
    return file
  }

  /// The settings for a start: those of the files, or, where these have mistakes, those that were kept.
  ///
  /// - Throws: exit code `configuration`: what is wrong with the files, and why the kept settings are not used.
  package func start() throws(DaemonError) -> SettingsInForce {
    do {
      return SettingsInForce(file: try load())
    } catch {
      // What may yet come is worth waiting for: other settings would lead to the same file or credential.
      guard error.code == ExitCode.configuration, !error.isAbsence, let kept else { throw error }
      let file: SettingsFile
      do throws(KeptSettings.Refusal) {
        file = try kept.standIn(for: path, environment: environment)
      } catch let refusal {
        throw DaemonError(error.code, "\(error.message)\nThe kept settings \(refusal.message)", cause: refusal)
      }
      do throws(DaemonError) {
        _ = try VehicleAgent.Configuration(file.settings)
      } catch let refusal {
        throw DaemonError(
          error.code, "\(error.message)\nThe kept settings cannot be used now: \(refusal.message)", cause: refusal.cause
        )
      }
      return SettingsInForce(file: file, mistake: error.message)
    }
  }

  private var kept: KeptSettings? {
    guard let keptPath, let bytes = try? AtomicFile.read(keptPath, limit: SettingsLoader.longestKept) else {
      return nil
    }
    return KeptSettings(path: keptPath, bytes: bytes)
  }

  /// Keeps settings for a start that finds mistakes in the files. What is kept already is not written again.
  ///
  /// - Returns: why they could not be kept; nil when they were.
  func keep(_ file: SettingsFile) -> String? {
    guard let keptPath else { return nil }
    let text = Array(file.keptText.utf8)
    do throws(Errno) {
      if try AtomicFile.read(keptPath, limit: SettingsLoader.longestKept) == text { return nil }
      try AtomicFile.write(text, to: keptPath, mode: 0o600, isDurable: true)
      return nil
    } catch {
      return "The settings are not kept for a start with mistakes in them: \(keptPath) cannot be written: \(error)"
    }
  }
}

/// Settings, and whether they are those of the files.
package struct SettingsInForce {
  /// As it was read: the settings, their warnings and the names of the files.
  package var file: SettingsFile
  /// What is wrong with the settings files, every mistake on a line of its own, while kept settings stand in for them.
  package var mistake: String?

  /// Of what they say: equal for equal settings, wherever and in whatever order they are written. 16 hexadecimal digits.
  var hash: String {
    // It fails for want of memory only.
    String((Digest.hexadecimal(of: file.canonicalText) ?? "").prefix(16))
  }
}
