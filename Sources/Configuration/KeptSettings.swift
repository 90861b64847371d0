// SPDX-License-Identifier: Apache-2.0
import Vehicle

/// The last settings that worked (with which Fleet Engine accepted an update), as a TOML text that an earlier run has
/// stored. They are used if the settings files have mistakes.
///
/// The text has no comments and no secrets. References to the host name, a file or a credential are not resolved, so
/// that a disk that is cloned for another vehicle does not report the first vehicle's ID.
package struct KeptSettings: Sendable {
  /// Why they are not used.
  package struct Refusal: Error, Equatable, Sendable {
    /// Continues a sentence that begins with "The kept settings".
    package let message: String
    /// Whether the only reason is a missing file, credential or host name, which may appear later.
    package var mayAppearLater = false

    /// - Parameter mayAppearLater: whether the only reason is a missing file, credential or host name.
    package init(message: String, mayAppearLater: Bool = false) {
      self.message = message
      self.mayAppearLater = mayAppearLater
    }
  }

  /// The first lines of their file.
  static let preface = """
    # The last settings with which Fleet Engine accepted an update. Written by fleet-locationd, which uses them if its
    # settings files have mistakes.

    """

  /// The path of their file, for messages.
  private let path: String
  private let bytes: [UInt8]

  /// - Parameter bytes: the contents of the file, not validated.
  package init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }

  /// Parses them, for use instead of the settings files, which have mistakes.
  ///
  /// They are used only if the files, as far as they can be read, name no other vehicle, token provider, Fleet Engine
  /// or connection to them, so that no position or credential is sent to another destination.
  ///
  /// - Parameters:
  ///   - mainPath: the main settings file; relative paths are relative to its directory.
  ///   - environment: the machine that the settings may refer to.
  /// - Throws: why they are not used.
  package func settings(
    replacing mainPath: String, environment: ConfigurationEnvironment
  ) throws(Refusal) -> SettingsFile {
    let kept: TOMLValue
    do throws(Diagnostic) {
      kept = try TOMLParser.parse(bytes, file: path)
    } catch {
      throw Refusal(message: "cannot be read: \(error)")
    }
    try SettingsDestination.requireSame(
      of: try PartialSettings(path: mainPath, environment: environment), as: kept)
    do throws(ConfigurationError) {
      var file = try SettingsFile(root: kept, files: [path], main: mainPath, environment: environment)
      // Logging of positions may have been disabled in the same edit as the mistake.
      file.settings.agent.logsPositions = false
      return file
    } catch {
      throw Refusal(
        message: "cannot be used now: \(error.diagnostics.first.map { "\($0)" } ?? "")",
        mayAppearLater: error.mayAppearLater)
    }
  }
}

extension SettingsFile {
  /// The settings in canonical form, without comments: equal for equal settings, regardless of files and order.
  package var canonicalText: String { root.canonicalText }

  /// The contents of the file of the kept settings, which the previous release can read as well: a key that it does not
  /// know is left out, if the default of that key is good enough.
  package var keptText: String {
    KeptSettings.preface + root.without("compact_updates", of: .reporting).canonicalText
  }
}
