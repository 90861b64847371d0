// SPDX-License-Identifier: Apache-2.0

/// Text that must not be printed: a token, a key, a password. It prints as `<redacted>`, its mirror is empty, it cannot
/// be encoded, and only ``reveal()`` returns it.
package struct Secret: Equatable, Sendable {
  private let text: String

  package init(_ text: String) {
    self.text = text
  }

  /// The text itself. Only to be used in a request to the party that it is for.
  package func reveal() -> String { text }

  /// Whether it is empty.
  package var isEmpty: Bool { text.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<redacted>" }
  package var debugDescription: String { "<redacted>" }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
