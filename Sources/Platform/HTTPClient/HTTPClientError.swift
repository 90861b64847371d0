// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The error when a client cannot be created.
package typealias HTTPClientError = PlatformError<HTTPClientErrorCode>

/// What is missing for a client.
package nonisolated enum HTTPClientErrorCode: Sendable {
  /// libcurl could not be initialized, or the machine is out of memory or descriptors.
  case unavailable
  /// libcurl on this machine lacks a required feature, or rejects an option.
  case unsupported
}
