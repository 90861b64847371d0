// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A client could not be created.
package typealias HTTPClientError = PlatformError<HTTPClient>

nonisolated extension PlatformError.Code where Owner == HTTPClient {
  /// libcurl could not be initialized, or the machine is out of memory or descriptors.
  package static var unavailable: Self { Self(rawValue: "unavailable") }
  /// libcurl on this machine lacks a required feature, or rejects an option.
  package static var unsupported: Self { Self(rawValue: "unsupported") }
}
