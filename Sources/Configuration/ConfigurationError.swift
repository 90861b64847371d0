// SPDX-License-Identifier: Apache-2.0

/// Why the settings cannot be used: every mistake, not only the first.
package struct ConfigurationError: Error, Equatable, Sendable {
  /// One or more, in the order of the files and of their lines.
  package let diagnostics: [Diagnostic]
  /// Warnings in addition to the errors.
  package let warnings: [Diagnostic]

  package init(diagnostics: [Diagnostic], warnings: [Diagnostic] = []) {
    self.diagnostics = diagnostics
    self.warnings = warnings
  }

  /// Whether all mistakes are missing or empty files, credentials or host names, which may appear later.
  package var mayAppearLater: Bool { diagnostics.allSatisfy(\.mayAppearLater) }

  /// Whether this user has no permission to read one of the settings files, or a file that they name, and there is no
  /// other mistake in what can be read.
  package var isPermissionDenied: Bool {
    diagnostics.contains { $0.isPermissionDenied && $0.key == nil } || diagnostics.allSatisfy(\.isPermissionDenied)
  }

  /// One line for each diagnostic: `file:line:column: key: what is wrong`.
  package var message: String {
    diagnostics.map(\.description).joined(separator: "\n")
  }
}

extension ConfigurationError: CustomStringConvertible {
  package var description: String { message }
}
