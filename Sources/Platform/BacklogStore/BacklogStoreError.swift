// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// An error of the backlog's file.
package typealias BacklogStoreError = PlatformError<BacklogStore>

extension PlatformError.Code where Owner == BacklogStore {
  /// It is damaged.
  package static var damaged: Self { Self(rawValue: "damaged") }
  /// It belongs to another program, or to a later release.
  package static var foreign: Self { Self(rawValue: "foreign") }
  /// Another process uses it.
  package static var busy: Self { Self(rawValue: "busy") }
  /// The file or its log was deleted or replaced while it was open.
  package static var replaced: Self { Self(rawValue: "replaced") }
  /// There is no room: on the disk, or within `backlog.max_size`.
  package static var full: Self { Self(rawValue: "full") }
  /// Permission denied.
  package static var denied: Self { Self(rawValue: "denied") }
  /// Any other error.
  package static var failed: Self { Self(rawValue: "failed") }
}

extension PlatformError where Owner == BacklogStore {
  /// Whether the file is unusable and must be replaced.
  package var isUnusable: Bool { code == .damaged || code == .foreign }
}
