// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A secret cannot be read.
package typealias ServiceManagerError = PlatformError<ServiceManagerErrorCode>

/// What is wrong with a secret.
package enum ServiceManagerErrorCode: String, Sendable {
  /// There is no such credential or file.
  case missing
  /// Credentials are only available to services, and this process is none.
  case notPassed
  /// Permission denied.
  case denied
  /// Accessible for others.
  case exposed
  /// It is empty, too long, not text, or no regular file.
  case unusable
}
