// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A secret cannot be had.
package typealias ServiceManagerError = PlatformError<Credentials>

extension PlatformError.Code where Owner == Credentials {
  /// There is no such credential or file.
  package static var missing: Self { Self(rawValue: "missing") }
  /// Credentials are handed out to a service, and this is none.
  package static var notHandedOut: Self { Self(rawValue: "notHandedOut") }
  /// This user may not read it.
  package static var denied: Self { Self(rawValue: "denied") }
  /// Others may read it.
  package static var exposed: Self { Self(rawValue: "exposed") }
  /// It is empty, too long, not text, or no regular file.
  package static var unusable: Self { Self(rawValue: "unusable") }
}
