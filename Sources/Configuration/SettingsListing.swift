// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FleetEngine

/// The values of all settings of a daemon, each with the place where it is set: for a person who wants to know which of
/// several files takes effect.
package enum SettingsListing {
  /// TOML, with the files in the order in which they are merged and the place of each value as comments. Whatever looks
  /// like a secret is masked.
  ///
  /// - Parameters:
  ///   - file: as `SettingsFile.load` has read it from `path`.
  ///   - path: the main file.
  ///   - environment: the machine that the settings refer to.
  package static func text(of file: SettingsFile, path: String, environment: ConfigurationEnvironment) -> String {
    var reader = SettingsReader(
      root: file.root, files: file.files, context: SettingsFile.context(of: path, environment: environment))
    let token = reader.readToken()
    var text = "# A key of a later file replaces the same key of an earlier one:\n"
    for name in file.files { text += "#   \(name)\n" }
    let names = file.settings.vehicle.names
    for section in SettingSection.allCases {
      switch section {
      case .source:
        for (index, source) in file.settings.sources.enumerated() {
          text += file.settings.sources.count > 1 ? "\n[[source]]\n" : "\n[source]\n"
          text += lines(of: source, in: reader.writtenSource(index), file, names)
        }
      case .token:
        let keys = TokenSection.keys.filter { [nil, token.kind.rawValue].contains($0.selectorValue) }
        text += "\n[token]\n" + lines(keys, token, TokenSection(), in: reader.written(section), section, file, names)
      default:
        let choice = section == .vehicle ? file.settings.vehicle.service.name : nil
        let keys = section.keys.filter { [nil, choice].contains($0.selectorValue) }
        text +=
          "\n[\(section.rawValue)]\n"
          + lines(keys, file.settings, Settings(), in: reader.written(section), section, file, names)
      }
    }
    return text
  }

  private static func lines(
    of source: Settings.Source, in written: [String: TOMLValue.Member], _ file: SettingsFile, _ names: [String]
  ) -> String {
    func lines<Kind: SourceSettings>(_ kind: Kind) -> String {
      var section = SourceSection()
      (section.type, section.silenceTimeout) = (Kind.type, source.silenceTimeout)
      return self.lines(SourceSection.keys, section, section, in: written, .source, file, names)
        + self.lines(Kind.keys, kind, kind, in: written, .source, file, names)
    }
    return lines(source.kind.settings)
  }

  /// One line for each key that has a value.
  ///
  /// - Parameter defaults: the values of keys that are not written, unless they are derived, from another key such as
  ///   `response`, or from the service's environment.
  private static func lines<Root>(
    _ keys: [Setting<Root>], _ root: Root, _ defaults: Root, in written: [String: TOMLValue.Member],
    _ section: SettingSection,
    _ file: SettingsFile, _ names: [String]
  ) -> String {
    keys.compactMap { key -> String? in
      guard let value = written[key.name]?.value else {
        guard let text = key.text(root) else { return nil }
        return "\(key.name) = \(text)  # not set: \(text == key.text(defaults) ? "the default" : "derived")\n"
      }
      // Only the settings of the token provider may contain a secret, for example in the query of a URL.
      let shown = section == .token ? masked(value, names) : value
      var remarks = places(of: value, at: [section.rawValue, key.name], file.replacements)
      // The value that a reference to a file, a credential or the host name resolves to.
      if case .table = value.content, let result = key.text(root) { remarks.append("which is \(result)") }
      return "\(key.name) = \(shown.inlineText)  # \(remarks.joined(separator: ", "))\n"
    }.joined()
  }

  private static func masked(_ value: TOMLValue, _ names: [String]) -> TOMLValue {
    guard let arguments = value.strings else {
      return value.mapStrings { ExternalText($0, limit: 1000, showing: names).description }
    }
    var masked = ExternalText.descriptions(ofArguments: arguments, limit: 1000, showing: names).makeIterator()
    return value.mapStrings { masked.next() ?? $0 }
  }

  /// Where a value is set, and which ones it replaces. If several files set headers, this is said of each header.
  private static func places(
    of value: TOMLValue, at path: [String], _ replacements: [TOMLValue.Replacement]
  ) -> [String] {
    if case .table(let members) = value.content,
      Set(members.values.map(\.value.position.file)).count > 1
        || replacements.contains(where: { $0.path.count > path.count && $0.path.starts(with: path) })
    {
      return members.sorted { $0.key < $1.key }.flatMap { name, member in
        let places = places(of: member.value, at: path + [name], replacements)
        return ["\(name): \(places[0])"] + places.dropFirst()
      }
    }
    return ["\(value.position)"]
      + replacements.filter { $0.path == path }.map { "replaces \($0.earlier.position)" }
  }
}
