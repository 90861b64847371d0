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
  /// A short digest of the values of the credentials; "-" if there are none.
  package var credentials: String

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
    return credentials == previous.credentials ? nil : "a credential has changed since the previous ones"
  }
}
