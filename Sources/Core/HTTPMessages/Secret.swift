// SPDX-License-Identifier: Apache-2.0

/// Text that must not be seen: a token, a key, a password. It prints as `<redacted>` however it is printed, has no
/// mirror and no encoder, and gives its text only to code that asks by name.
package struct Secret: Equatable, Sendable {
  private let text: String

  package init(_ text: String) {
    self.text = text
  }

  /// The text itself. Only a request that goes to the party it was made for may hold it.
  package func reveal() -> String { text }

  /// Whether there is nothing to hide.
  package var isEmpty: Bool { text.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<redacted>" }
  package var debugDescription: String { "<redacted>" }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
