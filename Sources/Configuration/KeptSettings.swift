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
    /// Whether the only reason is a missing or empty file, credential or host name, which may appear later.
    package var mayAppearLater = false

    /// - Parameter mayAppearLater: whether the only reason is a missing or empty file, credential or host name.
    package init(message: String, mayAppearLater: Bool = false) {
      self.message = message
      self.mayAppearLater = mayAppearLater
    }
  }

  /// The first lines of their file.
  static let preface = """
    # The last settings with which Fleet Engine accepted an update. Written by fleet-locationd, which uses them if its
    # settings files have mistakes. Lines with "#+" have keys that the previous release does not know.

    """

  /// Keys that the previous release, 0.2.0, does not know and therefore refuses. In the kept settings they are
  /// comments, so that after a downgrade 0.2.0 can use the kept settings, and the vehicle stays on the map.
  static let newKeys: [SettingSection: Set<String>] = [
    .reporting: ["compact_updates", "deviation"], .positions: ["socket"],
  ]

  /// The beginning of a line with a short digest of the credentials' values, which earlier releases ignore.
  fileprivate static let credentialsPrefix = "# Credentials: "

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
  ///   - areFilesValid: whether the files have no mistakes, and are replaced for another reason. Then `SettingsParts`
  ///     decides whether that is allowed.
  /// - Throws: why they are not used.
  package func settings(
    replacing mainPath: String, areFilesValid: Bool = false, environment: ConfigurationEnvironment
  ) throws(Refusal) -> SettingsFile {
    let kept: TOMLValue
    do throws(Diagnostic) {
      kept = try root()
    } catch {
      throw Refusal(message: "cannot be read: \(error)")
    }
    if !areFilesValid {
      try SettingsDestination.requireSame(
        of: try PartialSettings(path: mainPath, environment: environment), as: kept)
    }
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

extension KeptSettings {
  private func root() throws(Diagnostic) -> TOMLValue {
    try TOMLParser.parse(TOMLValue.uncommented(bytes), file: path)
  }

  /// The canonical text of each part of these settings; nil if they cannot be read.
  package var texts: SettingsTexts? { (try? root()).map { SettingsTexts($0) } }

  /// The digest of the credentials' values with which they worked; "-" if there were none, nil if an earlier release
  /// stored the settings.
  package var credentials: String? {
    String(decoding: bytes.prefix(1000), as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix(KeptSettings.credentialsPrefix) }.map {
        String($0.dropFirst(KeptSettings.credentialsPrefix.count))
      }
  }
}

/// The parts of settings as texts: equal for equal settings, regardless of files, order and release.
package struct SettingsTexts: Equatable, Sendable {
  /// All settings.
  package let all: String
  /// The settings that determine the vehicle, Fleet Engine and every proxy.
  package let destination: String
  /// The sources and the filter.
  package let source: String
  /// The token provider.
  package let token: String

  init(_ root: TOMLValue) {
    all = root.canonicalText
    func text(_ sections: [SettingSection], _ isIncluded: (SettingSection, String) -> Bool = { _, _ in true }) -> String
    {
      var part = root
      part.content = .table(
        Dictionary(
          uniqueKeysWithValues: sections.compactMap { section in
            guard var member = root.members[section.rawValue] else { return nil }
            if case .table(let keys) = member.value.content {
              let included = keys.filter { isIncluded(section, $0.key) }
              if included.isEmpty { return nil }
              member.value.content = .table(included)
            }
            return (section.rawValue, member)
          }))
      return part.canonicalText
    }
    // A different token provider may belong to the same vehicle, but its proxy is a destination.
    destination = text([.vehicle, .fleetEngine, .token]) { section, key in
      section == .token ? key == "proxy" : section.decidesDestination(by: key)
    }
    (source, token) = (text([.source, .filter]), text([.token]))
  }
}

extension SettingsFile {
  /// The parts of the settings.
  package var texts: SettingsTexts { SettingsTexts(root) }

  /// The settings in canonical form, without comments: equal for equal settings, regardless of files and order.
  package var canonicalText: String { root.canonicalText }

  /// The contents of the file of the kept settings.
  package var keptText: String { keptText(credentials: "-") }

  /// The same, with a short digest of the credentials' values, a single word; "-" if there are none.
  package func keptText(credentials: String) -> String {
    let settings = root.commentedText { section, key in
      SettingSection(rawValue: section).flatMap { KeptSettings.newKeys[$0] }?.contains(key) == true
    }
    return KeptSettings.preface + "\(KeptSettings.credentialsPrefix)\(credentials)\n" + settings
  }
}
