// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A device or a recording cannot be read.
package typealias SerialPortError = PlatformError<SerialPort>

nonisolated extension PlatformError.Code where Owner == SerialPort {
  /// There is no such path.
  package static var missing: Self { Self(rawValue: "missing") }
  /// Permission denied.
  package static var denied: Self { Self(rawValue: "denied") }
  /// Another program uses it.
  package static var busy: Self { Self(rawValue: "busy") }
  /// It is a directory, a regular file or another unexpected kind.
  package static var wrongKind: Self { Self(rawValue: "wrongKind") }
  /// The device does not support the baud rate.
  package static var badBaud: Self { Self(rawValue: "badBaud") }
  /// It was open and is gone: unplugged, or hung up.
  package static var vanished: Self { Self(rawValue: "vanished") }
  /// Any other error.
  package static var failed: Self { Self(rawValue: "failed") }
}
