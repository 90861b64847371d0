// SPDX-License-Identifier: Apache-2.0

/// A place in a settings file.
package struct SourcePosition: Hashable, Sendable {
  /// Path of the file, as it was opened.
  package let file: String
  /// From 1; 0 means the file as a whole.
  package let line: Int
  /// From 1, in characters; 0 means the line as a whole.
  package let column: Int

  package init(file: String, line: Int = 0, column: Int = 0) {
    self.file = file
    self.line = line
    self.column = column
  }
}

extension SourcePosition: CustomStringConvertible {
  /// `file:line:column`, as compilers write it.
  package var description: String {
    guard line > 0 else { return file }
    return column > 0 ? "\(file):\(line):\(column)" : "\(file):\(line)"
  }
}

/// A mistake in the settings or a warning: its position, its key, and what to do.
package struct Diagnostic: Hashable, Sendable {
  /// Where the mistake begins; line and column are 0 when it concerns a whole file.
  package let position: SourcePosition
  /// `section.key`; nil when it concerns the file.
  package let key: String?
  /// What is wrong and what is allowed.
  package let message: String
  /// Whether a file, credential or host name that the settings refer to is missing or empty, and may appear later.
  package let mayAppearLater: Bool
  /// Whether this user has no permission to read the settings file, or a file that it names.
  package let isPermissionDenied: Bool

  package init(
    position: SourcePosition, key: String? = nil, message: String, mayAppearLater: Bool = false,
    isPermissionDenied: Bool = false
  ) {
    self.position = position
    self.key = key
    self.message = message
    self.mayAppearLater = mayAppearLater
    self.isPermissionDenied = isPermissionDenied
  }
}

extension Diagnostic {
  /// Whether it concerns this section; false only if it is about another one.
  func concerns(_ section: SettingSection) -> Bool {
    // Such as `source[2].device`.
    let name = (key ?? "").prefix { $0 != "." && $0 != "[" }
    return SettingSection(rawValue: String(name)).map { $0 == section } ?? true
  }
}

extension Diagnostic: CustomStringConvertible {
  /// `file:line:column: key: message`, on one line.
  package var description: String {
    guard let key else { return "\(position): \(message)" }
    return "\(position): \(key.printable): \(message)"
  }
}

extension String {
  /// The text for one line of a terminal: control characters are escaped, and a long text is truncated.
  var printable: String { printable(atMost: 80) }

  func printable(atMost limit: Int) -> String {
    var text = ""
    for scalar in unicodeScalars.prefix(limit) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate:
        text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return unicodeScalars.count > limit ? text + "…" : text
  }
}
