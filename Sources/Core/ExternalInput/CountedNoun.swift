// SPDX-License-Identifier: Apache-2.0

extension BinaryInteger {
  /// As in `1 fix` or `2 fixes`.
  ///
  /// - Parameter several: the plural, if it is not the singular with an "s".
  package func counted(_ one: String, _ several: String? = nil) -> String {
    "\(self) \(self == 1 ? one : several ?? "\(one)s")"
  }
}
