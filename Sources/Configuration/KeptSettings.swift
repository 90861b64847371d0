// SPDX-License-Identifier: Apache-2.0
import Delivery

/// The last settings with which Fleet Engine accepted an update, as a TOML text that an earlier run has kept. They stand in
/// for a settings file that has mistakes.
///
/// The text has no secrets, for settings have none, and no comments. What refers to the host name, a file or a credential
/// still does: the disk of one vehicle, cloned to another, makes no twin of the first.
package struct KeptSettings: Sendable {
  /// Why they do not stand in.
  package struct Refusal: Error, Equatable, Sendable {
    /// The end of a sentence that begins with "The kept settings".
    package let message: String
    /// Whether nothing is wrong but that a file or credential which they name is not there, and may yet come.
    package var isAbsence = false
  }

  /// What a file of them begins with.
  static let preface = """
    # The last settings with which Fleet Engine accepted an update. Written by fleet-locationd, which uses them as long as its
    # settings file has mistakes.

    """

  /// Where they are kept, for messages.
  private let path: String
  private let bytes: [UInt8]

  /// - Parameter bytes: what is in the file; it may be anything.
  package init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }

  /// These settings in place of those at `path`, which have mistakes.
  ///
  /// They are used only where the files, as far as they can be read, name the same vehicle, token provider and Fleet Engine,
  /// reached in the same way: no position and no credential goes where it was not meant to go.
  ///
  /// - Parameters:
  ///   - mainPath: the main settings file, at whose directory relative paths begin.
  ///   - environment: the machine that they may refer to.
  /// - Throws: why they are not used.
  package func standIn(
    for mainPath: String, environment: ConfigurationEnvironment
  ) throws(Refusal) -> SettingsFile {
    let kept: TOMLValue
    do throws(Diagnostic) {
      kept = try TOMLParser.parse(bytes, file: path)
    } catch {
      throw Refusal(message: "cannot be read: \(error)")
    }
    try SettingsDestination.requireSame(
      of: try SettingsRemains.read(path: mainPath, environment: environment), as: kept)
    do throws(ConfigurationError) {
      var file = try SettingsFile(root: kept, files: [path], main: mainPath, environment: environment)
      // They may have been switched off in the same edit as the mistake.
      file.settings.agent.tellsPositions = false
      return file
    } catch {
      throw Refusal(
        message: "cannot be used now: \(error.diagnostics.first.map { "\($0)" } ?? "")", isAbsence: error.isAbsence)
    }
  }
}

extension SettingsFile {
  /// What says the same as these settings, whatever files, comments and order they came in: equal for equal settings.
  package var canonicalText: String { root.canonicalText }

  /// What is to be in the file that keeps them.
  package var keptText: String { KeptSettings.preface + canonicalText }
}
