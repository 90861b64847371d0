// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A device or a recording cannot be read.
package typealias SerialPortError = PlatformError<SerialPortErrorCode>

/// What is wrong with a device or a recording.
package nonisolated enum SerialPortErrorCode: Sendable {
  /// There is no such path.
  case missing
  /// Permission denied.
  case permissionDenied
  /// Another program uses it.
  case busy
  /// It is a directory, a regular file or another unexpected kind.
  case wrongKind
  /// The device does not support the baud rate.
  case badBaud
  /// It was open and is gone: unplugged, or hung up.
  case vanished
  /// Any other error.
  case failed
}
