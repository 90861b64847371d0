// SPDX-License-Identifier: Apache-2.0

/// Why the settings cannot be used: everything that was found wrong, not only the first of it.
package struct ConfigurationError: Error, Equatable, Sendable {
  /// The kind of error, for who decides by it.
  package struct Code: Hashable, Sendable {
    private let name: String

    /// A file is missing, is not a file, is too large, or may not be read.
    package static let unreadable = Code(name: "unreadable")
    /// A file is not TOML.
    package static let syntax = Code(name: "syntax")
    /// A key is unknown, missing, or has a value that is not allowed.
    package static let invalid = Code(name: "invalid")
  }

  /// `unreadable` when a file cannot be read, else `syntax` when one is not TOML, else `invalid`.
  package let code: Code
  /// One or more, in the order of the files and of their lines.
  package let diagnostics: [Diagnostic]
  /// What was noticed beside the errors.
  package let warnings: [Diagnostic]

  package init(code: Code, diagnostics: [Diagnostic], warnings: [Diagnostic] = []) {
    self.code = code
    self.diagnostics = diagnostics
    self.warnings = warnings
  }

  /// Whether nothing is wrong but that files or credentials which the settings name are not there, and may yet come.
  package var isAbsence: Bool { diagnostics.allSatisfy(\.isAbsence) }

  /// Whether this user may not read one of the settings files.
  package var isDenial: Bool { diagnostics.contains(where: \.isDenial) }

  /// One line for each diagnostic: `file:line:column: key: what is wrong`.
  package var message: String {
    diagnostics.map(\.description).joined(separator: "\n")
  }
}

extension ConfigurationError: CustomStringConvertible {
  package var description: String { message }
}
