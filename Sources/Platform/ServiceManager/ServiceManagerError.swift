// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A secret cannot be read.
package typealias ServiceManagerError = PlatformError<Credentials>

extension PlatformError.Code where Owner == Credentials {
  /// There is no such credential or file.
  package static var missing: Self { Self(rawValue: "missing") }
  /// Credentials are only available to services, and this process is none.
  package static var notPassed: Self { Self(rawValue: "notPassed") }
  /// Permission denied.
  package static var denied: Self { Self(rawValue: "denied") }
  /// Accessible for others.
  package static var exposed: Self { Self(rawValue: "exposed") }
  /// It is empty, too long, not text, or no regular file.
  package static var unusable: Self { Self(rawValue: "unusable") }
}
