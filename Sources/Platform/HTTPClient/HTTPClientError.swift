// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A client could not be made.
package typealias HTTPClientError = PlatformError<HTTPClient>

nonisolated extension PlatformError.Code where Owner == HTTPClient {
  /// libcurl could not be started, or the machine is out of memory or descriptors.
  package static var unavailable: Self { Self(rawValue: "unavailable") }
  /// libcurl on this machine was built without what is needed, or refuses a setting.
  package static var unsupported: Self { Self(rawValue: "unsupported") }
}
