// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A null-terminated array of C strings, as for exec(3) and getopt(3), valid while this object exists.
@safe package final class CStrings {
  /// The array with a null pointer at the end; a C function may permute it.
  package var pointers: [UnsafeMutablePointer<CChar>?]
  private let owned: [UnsafeMutablePointer<CChar>?]

  package init(_ texts: [String]) {
    unsafe owned = texts.map { unsafe strdup($0) }
    unsafe pointers = owned + [nil]
  }

  deinit {
    for index in unsafe owned.indices { unsafe free(owned[index]) }
  }

  /// The string at an index of ``pointers``; empty if there is none.
  package func text(_ index: Int) -> String {
    guard unsafe pointers.indices.contains(index), let pointer = unsafe pointers[index] else { return "" }
    return unsafe String(cString: pointer)
  }
}
