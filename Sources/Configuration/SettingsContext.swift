// SPDX-License-Identifier: Apache-2.0

/// The context in which a setting is read.
struct SettingsContext {
  let environment: ConfigurationEnvironment
  /// The directory of relative paths; empty for the working directory.
  let directory: String
}
