// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The environment variables of this process.
package enum Environment {
  /// The value of a variable, with what is no UTF-8 replaced; nil when it is not set. An empty value is a value.
  package static func value(of name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// Sets a variable for this process and the programs that it starts later.
  package static func set(_ name: String, to value: String) {
    _ = unsafe setenv(name, value, 1)
  }
}
