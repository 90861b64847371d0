// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Daemon
import Vehicle
import FleetEngine
import Glibc
import SystemCalls
import TokenStore

/// Reads the settings files of the daemon, and stores the last settings that worked.
package struct SettingsLoader {
  /// Name of the file with the last settings that led to an accepted update.
  private static let keptName = "kept-settings.toml"
  /// Maximum size in bytes, the same as that of the settings files themselves.
  private static let maxKeptSize = 1_000_000

  private let path: String
  private let environment: ConfigurationEnvironment
  /// Nil if the service has no state directory.
  private let keptPath: String?
  private let unstored = Unstored()

  /// The last settings that worked, if they could not be written: the file has older ones.
  private final class Unstored {
    var text: String?
  }

  /// - Parameter path: the main settings file.
  package init(path: String, environment: ConfigurationEnvironment = .system) {
    self.path = path
    self.environment = environment
    keptPath = Environment.serviceDirectory(in: environment.variable("STATE_DIRECTORY"))
      .map { "\($0)/\(SettingsLoader.keptName)" }
  }

  /// The path of the main settings file, if it does not exist; otherwise nil.
  var missingFile: String? { FileAccess.error(path, F_OK)?.code == ENOENT ? path : nil }

  /// Reads the settings, and the credentials that they name.
  ///
  /// - Throws: exit code `configuration`, with each mistake on a line of its own.
  package func load() throws(DaemonError) -> SettingsFile {
    let file = try loadWithoutCredentials()
    _ = try VehicleAgent.Configuration(file.settings)
    return file
  }

  /// Reads the settings, but not the credentials and secret files that they name.
  ///
  /// - Throws: exit code `configuration`, with each mistake on a line of its own.
  func loadWithoutCredentials() throws(DaemonError) -> SettingsFile {
    do {
      return try SettingsFile.load(path: path, environment: environment)
    } catch {
      throw DaemonError(ExitCode.configuration, error.message, cause: error)
    }
  }

  /// The last settings that worked, to be used in place of the files.
  ///
  /// - Parameter areFilesValid: whether the files have no mistakes, but are to be replaced.
  /// - Returns: nil if there are none.
  /// - Throws: exit code `configuration`, with a sentence that says why they are not used.
  func keptSettings(areFilesValid: Bool = false) throws(DaemonError) -> SettingsFile? {
    let kept: SettingsFile?
    do throws(KeptSettings.Refusal) {
      kept = try self.kept?.settings(replacing: path, areFilesValid: areFilesValid, environment: environment)
    } catch {
      throw DaemonError(ExitCode.configuration, "The kept settings \(error.message)", cause: error)
    }
    guard let file = kept else { return nil }
    do throws(DaemonError) {
      _ = try VehicleAgent.Configuration(file.settings)
    } catch {
      throw DaemonError(error.code, "The kept settings cannot be used now: \(error.message)", cause: error.cause)
    }
    return file
  }

  // MARK: - For the daemon

  /// Reads the settings files, and prepares everything that they need.
  ///
  /// - Parameter prepare: its error is about what valid settings name: a certificate, a route or a recording.
  func read(_ prepare: (SettingsFile) throws(DaemonError) -> SettingsOutcome) -> SettingsOutcome {
    do throws(DaemonError) {
      return outcome(of: try load(), prepare)
    } catch {
      return outcome(of: error)
    }
  }

  /// Does the same for the last settings that worked.
  ///
  /// - Parameter areFilesValid: whether the files have no mistakes, but are to be replaced.
  func readKept(
    areFilesValid: Bool = false, _ prepare: (SettingsFile) throws(DaemonError) -> SettingsOutcome
  ) -> KeptSettingsOutcome {
    do throws(DaemonError) {
      guard let file = try keptSettings(areFilesValid: areFilesValid) else { return .none }
      return .read(outcome(of: file, prepare))
    } catch {
      return .read(outcome(of: error))
    }
  }

  private func outcome(
    of file: SettingsFile, _ prepare: (SettingsFile) throws(DaemonError) -> SettingsOutcome
  ) -> SettingsOutcome {
    do throws(DaemonError) {
      return try prepare(file)
    } catch {
      return .unusable(error.message, isMissing: error.code == ExitCode.unavailable)
    }
  }

  private func outcome(of error: DaemonError) -> SettingsOutcome {
    guard error.mayAppearLater else { return .invalid(error.message) }
    // If only a credential or secret file is missing, the settings themselves are known.
    guard let settings = try? SettingsFile.load(path: path, environment: environment).settings else {
      return .missing(error.message)
    }
    return .missing(
      error.message,
      known: KnownSettings(
        provider: settings.vehicle.providerID, vehicle: settings.vehicle.vehicleID, metricsFile: settings.metricsFile))
  }

  /// The parts of the last settings that worked; nil if there are none that can be read.
  var keptParts: SettingsParts? {
    guard let kept = try? kept, let texts = kept.texts else { return nil }
    return SettingsParts(texts, credentials: kept.credentials ?? SettingsParts.unknownCredentials)
  }

  /// The suffix of the file next to the main settings file whose presence asks for a confirmation.
  private static let confirmationSuffix = ".confirm"
  /// The time for the confirmation if the file does not contain one.
  private static let confirmationTime = Duration.seconds(600)
  /// The times that the file may contain.
  package static let confirmationTimes = Duration.seconds(60)...(.seconds(86_400))

  /// `limit`: the time for the confirmation of changed settings; nil if no file asks for one. `warning`: what is wrong
  /// with that file; nil if nothing is.
  var confirmation: (limit: Duration?, warning: String?) {
    let path = path + SettingsLoader.confirmationSuffix
    let text: String
    do throws(ConfigurationEnvironment.FileProblem) {
      text = String(decoding: try environment.readFile(path, 100), as: UTF8.self)
    } catch {
      // Its presence counts, even if it cannot be read.
      return (error == .missing ? nil : SettingsLoader.confirmationTime, nil)
    }
    let word = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !word.isEmpty else { return (SettingsLoader.confirmationTime, nil) }
    do throws(QuantityOption.Mistake) {
      return (try QuantityOption.duration(word, SettingsLoader.confirmationTimes), nil)
    } catch {
      return (SettingsLoader.confirmationTime, "\(path): \(error.message); 10min is used")
    }
  }

  private var kept: KeptSettings? {
    get throws(KeptSettings.Refusal) {
      guard let keptPath else { return nil }
      if let text = unstored.text, store(text) != nil { return KeptSettings(path: keptPath, bytes: Array(text.utf8)) }
      guard let bytes = try? AtomicFile.read(keptPath, limit: SettingsLoader.maxKeptSize) else { return nil }
      guard bytes.isEmpty else { return KeptSettings(path: keptPath, bytes: bytes) }
      let flaw = FileAccess.nonRegularKind(of: keptPath).map { "is \($0)" } ?? "is empty, or this user may not read it"
      throw KeptSettings.Refusal(
        message: "cannot be read: \(keptPath) \(flaw); remove it, and the next settings that work are stored there")
    }
  }

  /// Stores a `keptText` as the last settings that worked, for a start at which the files have mistakes. A text that
  /// has not changed is not written again; one that cannot be written is used until this run ends.
  ///
  /// - Returns: why they could not be stored; nil on success.
  func store(_ text: String) -> String? {
    guard let keptPath else { return nil }
    let bytes = Array(text.utf8)
    do throws(Errno) {
      if try AtomicFile.read(keptPath, limit: SettingsLoader.maxKeptSize) != bytes {
        try AtomicFile.write(bytes, to: keptPath, mode: 0o600, isDurable: true)
      }
      unstored.text = nil
      return nil
    } catch {
      unstored.text = text
      return
        "The last settings that worked cannot be stored: \(keptPath) cannot be written: \(error)"
    }
  }
}

extension SettingsFile {
  /// A hash in 16 hexadecimal digits: equal for equal settings, regardless of files and order.
  package var hash: String {
    // The hash function fails only if memory runs out.
    String((Digest.hexadecimal(of: canonicalText) ?? "").prefix(16))
  }
}
