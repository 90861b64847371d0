// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A secret cannot be read.
package typealias ServiceManagerError = PlatformError<ServiceManagerErrorCode>

/// What is wrong with a secret.
package enum ServiceManagerErrorCode: String, Sendable {
  /// There is no such credential or file.
  case missing
  /// systemd has passed no credentials to this process: it is not a service, or its unit has none.
  case notPassed
  /// Permission denied.
  case denied
  /// The file is accessible to other users.
  case exposed
  /// It is empty, too long, not text, or not a regular file.
  case unusable
}
