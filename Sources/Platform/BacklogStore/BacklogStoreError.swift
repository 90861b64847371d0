// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// An error of the backlog's file.
package typealias BacklogStoreError = PlatformError<BacklogStoreErrorCode>

/// What is wrong with the backlog's file.
package enum BacklogStoreErrorCode: Sendable {
  /// The file is damaged.
  case damaged
  /// The file belongs to another program, or to a later release.
  case foreign
  /// Another process uses the file.
  case busy
  /// The file or its log was deleted or replaced while it was open.
  case replaced
  /// There is no room: on the disk, or within `backlog.max_size`.
  case full
  /// Permission denied.
  case permissionDenied
  /// Any other error.
  case failed
}

extension PlatformError where Code == BacklogStoreErrorCode {
  /// Whether the file is unusable and must be replaced.
  package var isUnusable: Bool { code == .damaged || code == .foreign }
}
