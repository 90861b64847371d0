// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The backlog's file cannot be used.
package typealias BacklogStoreError = PlatformError<BacklogStore>

extension PlatformError.Code where Owner == BacklogStore {
  /// It is damaged.
  package static var damaged: Self { Self(rawValue: "damaged") }
  /// It is another program's, or of a later release.
  package static var foreign: Self { Self(rawValue: "foreign") }
  /// Another process uses it.
  package static var busy: Self { Self(rawValue: "busy") }
  /// It was deleted or replaced while it was open, or its log was.
  package static var replaced: Self { Self(rawValue: "replaced") }
  /// There is no room: on the disk, or up to `backlog.max_size`.
  package static var full: Self { Self(rawValue: "full") }
  /// This user may not write there.
  package static var denied: Self { Self(rawValue: "denied") }
  /// The system refused in another way.
  package static var failed: Self { Self(rawValue: "failed") }
}

extension PlatformError where Owner == BacklogStore {
  /// Whether nobody will be able to use the file as it is: an empty one must take its place.
  package var isBeyondUse: Bool { code == .damaged || code == .foreign }
}
