// SPDX-License-Identifier: Apache-2.0

/// The backlog's file cannot be used.
package struct BacklogStoreError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// It is damaged.
    package static let damaged = Code(rawValue: "damaged")
    /// It is another program's, or of a later release.
    package static let foreign = Code(rawValue: "foreign")
    /// Another process uses it.
    package static let busy = Code(rawValue: "busy")
    /// There is no room: on the disk, or up to `backlog.max_size`.
    package static let full = Code(rawValue: "full")
    /// This user may not write there.
    package static let denied = Code(rawValue: "denied")
    /// The system refused in another way.
    package static let failed = Code(rawValue: "failed")
  }

  package let code: Code
  /// The file, what is wrong with it, and what to do.
  package let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }

  /// Whether nobody will be able to use the file as it is: an empty one must take its place.
  package var isBeyondUse: Bool { code == .damaged || code == .foreign }
}
