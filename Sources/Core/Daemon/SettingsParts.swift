// SPDX-License-Identifier: Apache-2.0

/// Digests of settings and their parts: equal for equal settings, regardless of files and order. Each is a single word,
/// such as hexadecimal digits.
package struct SettingsParts: Equatable, Sendable {
  /// The digest of all settings.
  package var all: String
  /// The digest of the settings that decide the vehicle, Fleet Engine and every proxy.
  package var destination: String
  /// The digest of the sources and the filter, which decide whether there is a fix.
  package var source: String
  /// The digest of the token provider.
  package var token: String
  /// A short digest of the values of the credentials; "-" if there are none. Of settings that an earlier release has
  /// stored it is `unknownCredentials`.
  package var credentials: String

  /// Stands for the digest of credentials whose values are unknown.
  package static let unknownCredentials = "unknown"

  package init(
    all: String = "", destination: String = "", source: String = "", token: String = "", credentials: String = "-"
  ) {
    self.all = all
    self.destination = destination
    self.source = source
    self.token = token
    self.credentials = credentials
  }

  /// Why these are not replaced by `previous` even if no update confirms them; nil: they are replaced.
  func obstacle(to previous: SettingsParts) -> String? {
    if destination != previous.destination {
      return "the previous ones name another vehicle, Fleet Engine or proxy"
    }
    if credentials == previous.credentials { return nil }
    guard previous.credentials == SettingsParts.unknownCredentials else {
      return "a credential has changed since the previous ones"
    }
    // Without a credential, as with a token from a file, none can have changed.
    return credentials == "-"
      ? nil
      : "the previous ones were stored by an earlier release, so it is unknown whether a credential has changed"
  }
}
