// SPDX-License-Identifier: Apache-2.0
// getopt keeps its place in global variables, which one thread alone may use: this program has one.
@preconcurrency import CLinux
import Glibc

/// Reads the options that every command has, with glibc's `getopt_long`.
struct CommandOptions {
  enum Option {
    case help
    case version
  }

  private let arguments: [String]
  /// What follows the options; all of it once `next` has returned nil.
  private(set) var operands: [String] = []

  /// - Parameter arguments: the name of the program or command first.
  init(arguments: [String]) {
    self.arguments = arguments
  }

  /// The first option. Nil when there is none: then `operands` holds the rest.
  mutating func next() throws(CommandError) -> Option? {
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    // "+": options of a command come after it and are not of the program. optind 0 starts anew.
    optind = 0
    opterr = 0
    let count = Int32(clamping: arguments.count)
    let found = "help".withCString { help in
      "version".withCString { version in
        let long = [
          option(name: help, has_arg: 0, flag: nil, val: Int32(UInt8(ascii: "h"))),
          option(name: version, has_arg: 0, flag: nil, val: Int32(UInt8(ascii: "V"))),
          option(),
        ]
        return getopt_long(count, &pointers, "+hV", long, nil)
      }
    }
    switch found {
    case -1:
      operands = Array(arguments.dropFirst(Int(optind)))
      return nil
    case Int32(UInt8(ascii: "h")): return .help
    case Int32(UInt8(ascii: "V")): return .version
    default:
      // A long option has moved optind past itself; of joined short ones optopt tells which.
      let word =
        optopt > 0 && optopt < 128
        ? "-\(Character(UnicodeScalar(UInt8(truncatingIfNeeded: optopt))))"
        : arguments.dropFirst(Int(optind) - 1).first ?? ""
      throw CommandError(.usage, "unknown option \"\(word)\"")
    }
  }
}
