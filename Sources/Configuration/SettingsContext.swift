// SPDX-License-Identifier: Apache-2.0

/// What a setting may refer to.
struct SettingsContext {
  let environment: ConfigurationEnvironment
  /// Where relative paths begin; empty is the working directory.
  let directory: String
}
