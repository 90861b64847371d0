// SPDX-License-Identifier: Apache-2.0
import Configuration

/// The settings as a manual page.
package enum SettingsManual {
  /// The manual page fleet-locationd.toml(5), in man(7), from the same declarations as `docs/settings.md`.
  package static var text: String {
    var text = #"""
      .\" SPDX-License-Identifier: Apache-2.0
      .\" Generated from the declarations of the settings; do not edit.
      .TH FLEET\-LOCATIOND.TOML 5 "" fleet\-locationd "File formats"
      .SH NAME
      fleet\-locationd.toml \- settings of the vehicle location daemon
      .SH SYNOPSIS
      .I /etc/fleet\-locationd/fleet\-locationd.toml
      .br
      .I /etc/fleet\-locationd/conf.d/*.toml
      .SH DESCRIPTION
      One TOML file, and the files
      .I conf.d/*.toml
      beside it, then
      .IR fleet\-locationd.toml.d/*.toml ,
      which are merged into it in the order of their names: a key of a later file replaces the same key of an
      earlier one; sections and the table `token.headers` are merged.
      .BI fleet\-locationd@ NAME
      has
      .IR /etc/fleet\-locationd/ NAME .toml
      and
      .IR NAME .toml.d/*.toml
      instead, and shares
      .IR conf.d .
      Paths are relative to the directory of the main file.
      .B fleet\-locationd \-\-check
      reports every mistake with file, line and column.
      .PP
      Numbers with a unit are strings: durations \(dq500ms\(dq, \(dq10s\(dq, \(dq5min\(dq, \(dq1h 30min\(dq, \(dq7 days\(dq; distances
      \(dq25 m\(dq, \(dq1.5 km\(dq; speeds \(dq50 km/h\(dq, \(dq13.9 m/s\(dq, \(dq30 mph\(dq.

      """#
    for section in SettingSection.allCases {
      text += ".SH \"[\(roff(section.rawValue))]\"\n\(line(section.summary))"
      for setting in section.settings { text += entry(setting) }
    }
    text += """
      .SH EXAMPLE
      .EX
      [vehicle]
      provider_id = \\(dqmy\\-project\\(dq
      vehicle_id = \\(dqtruck\\-17\\(dq

      [source]
      type = \\(dqserial\\(dq
      device = \\(dq/dev/gps0\\(dq

      [token]
      url = \\(dqhttps://tokens.example.com/token/delivery_driver/{vehicle_id}\\(dq
      .EE
      .SH SEE ALSO
      .BR fleet\\-locationd (8),
      .BR fleet\\-locationctl (1)

      """
    return text
  }

  private static func entry(_ setting: SettingDescription) -> String {
    let owner = setting.selectorLine.map { ", with \($0)" } ?? ""
    let absence = setting.isRequired ? "required" : setting.defaultText.map { "default \($0)" } ?? "no default"
    let allowed = setting.allowed.isEmpty ? "" : "; \(setting.allowed)"
    let facts = "(\(setting.typeName)\(owner); \(absence)\(allowed))"
    return ".TP\n.B \(roff(setting.name))\n\(line(facts))\(line(setting.summary))"
  }

  /// A line of text, marked so that roff does not read it as a request.
  private static func line(_ text: String) -> String { "\\&\(roff(text))\n" }

  /// Escapes what roff would change (backslash, hyphen, quotation marks), and removes Markdown's backquotes and links.
  private static func roff(_ text: String) -> String {
    var escaped = ""
    for character in withoutLinks(text) {
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "\"": escaped += "\\(dq"
      case "'": escaped += "\\(aq"
      case "°": escaped += "\\(de"
      case "`": break
      case "\n": escaped += " "
      default: escaped.append(character)
      }
    }
    return escaped
  }

  /// Only the text of each link: `filter.md` of `[filter.md](filter.md)`.
  private static func withoutLinks(_ markdown: String) -> String {
    let parts = markdown.split(separator: "[" as Character, omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(parts.first.map(String.init) ?? "") { text, part in
      guard let end = part.firstIndex(of: "]"), part[end...].hasPrefix("]("),
        let close = part[end...].firstIndex(of: ")")
      else { return text + "[" + part }
      return text + part[..<end] + part[part.index(after: close)...]
    }
  }
}
