// SPDX-License-Identifier: Apache-2.0

/// A settings file under construction: `section.key` to the value as TOML.
struct SettingsText {
  var values: [String: String] = [:]
  /// Several sources in order of priority, each with its keys; empty: the section `[source]` is used.
  var sourceList: [[String: String]] = []

  subscript(_ key: String) -> String? {
    get { values[key] }
    set { values[key] = newValue }
  }

  /// A string in TOML.
  static func string(_ text: String) -> String { "\"\(text)\"" }

  /// Sets the type and the keys of `[source]`, and removes its previous keys.
  mutating func source(_ type: String, _ keys: [String: String]) {
    for key in values.keys where key.hasPrefix("source.") { values[key] = nil }
    values["source.type"] = SettingsText.string(type)
    for (key, value) in keys { values["source.\(key)"] = value }
  }

  var text: String {
    var sections: [String: [String]] = [:]
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      let parts = key.split(separator: ".", maxSplits: 1)
      sections[String(parts[0]), default: []].append("\(parts[1]) = \(value)")
    }
    let tables = sections.sorted { $0.key < $1.key }.map { "[\($0.key)]\n\($0.value.joined(separator: "\n"))\n" }
    let sources = sourceList.map { keys in
      "[[source]]\n" + keys.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
    }
    return (tables + sources).joined(separator: "\n")
  }
}
