// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// The options of a command line, read by glibc's `getopt_long`.
package struct CommandLineOptions: Equatable, Sendable {
  /// One option that a program knows.
  package struct Option: Equatable, Sendable {
    /// The long name.
    package let name: String
    let short: Character?
    let takesValue: Bool

    /// - Parameters:
    ///   - name: long name, without the dashes.
    ///   - short: an ASCII letter.
    package init(_ name: String, short: Character? = nil, takesValue: Bool = false) {
      self.name = name
      self.short = short
      self.takesValue = takesValue
    }
  }

  /// What cannot be understood, as the end of a sentence: `unknown option "--foo"`.
  package struct Mistake: Error, Equatable, Sendable {
    /// What is wrong and what is expected, without the program's name.
    package let message: String
  }

  /// What was given, in order; the value is empty for options that take none.
  package private(set) var given: [(name: String, value: String)] = []
  /// What is no option.
  package private(set) var operands: [String] = []

  /// - Parameters:
  ///   - arguments: the name of the program or command first.
  ///   - stopsAtOperand: whether options end at the first operand, as they do where commands have options of their own.
  package init(
    _ arguments: [String], options: [Option], stopsAtOperand: Bool = false
  ) throws(Mistake) {
    // The leading colon keeps getopt from printing.
    var short = stopsAtOperand ? "+:" : ":"
    for option in options {
      if let letter = option.short { short += "\(letter)\(option.takesValue ? ":" : "")" }
    }
    let names = CStrings(options.map(\.name))
    let words = CStrings(arguments)
    // Values from 256 on are no letters.
    var long = unsafe options.indices.map { index in
      unsafe option(
        name: names.pointers[index], has_arg: options[index].takesValue ? 1 : 0, flag: nil, val: Int32(256 + index))
    }
    unsafe long.append(option())
    fleet_getopt_restart()
    while true {
      let found = unsafe getopt_long(Int32(clamping: arguments.count), &words.pointers, short, long, nil)
      if found == -1 { break }
      let known =
        found >= 256
        ? options.indices.contains(Int(found) - 256) ? options[Int(found) - 256] : nil
        : options.first { $0.short?.asciiValue.map(Int32.init) == found }
      guard let known else {
        throw Mistake(message: CommandLineOptions.mistake(found, at: words.text(Int(fleet_optind()) - 1)))
      }
      given.append((known.name, unsafe fleet_optarg().map { unsafe String(cString: $0) } ?? ""))
    }
    operands = (Int(fleet_optind())..<max(arguments.count, Int(fleet_optind()))).map { words.text($0) }
  }

  /// The value of the last one of that name; nil when it was not given.
  package func value(_ name: String) -> String? {
    given.last { $0.name == name }?.value
  }

  /// Whether the option was given.
  package func has(_ name: String) -> Bool { value(name) != nil }

  package static func == (left: CommandLineOptions, right: CommandLineOptions) -> Bool {
    left.operands == right.operands
      && left.given.elementsEqual(right.given) { $0.name == $1.name && $0.value == $1.value }
  }

  /// What was wrong: getopt has moved past a long option, and tells the letter of a short one.
  private static func mistake(_ found: Int32, at word: String) -> String {
    let letter = fleet_optopt()
    if found == Int32(UInt8(ascii: ":")) { return "\(word) wants a value" }
    if letter >= 256 { return "\(word) takes no value" }
    guard letter > 0, letter < 128, !word.hasPrefix("--") else { return "unknown option \"\(word)\"" }
    return "unknown option \"-\(Character(UnicodeScalar(UInt8(truncatingIfNeeded: letter))))\""
  }
}

/// Texts as C wants them: each ended by a NUL, the row by a null pointer.
@safe private final class CStrings {
  var pointers: [UnsafeMutablePointer<CChar>?]
  private let owned: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) {
    unsafe owned = texts.map { unsafe strdup($0) }
    unsafe pointers = owned + [nil]
  }

  deinit {
    // getopt moves the pointers of the row about; these are as they were made.
    for index in unsafe owned.indices { unsafe free(owned[index]) }
  }

  func text(_ index: Int) -> String {
    guard unsafe pointers.indices.contains(index), let pointer = unsafe pointers[index] else { return "" }
    return unsafe String(cString: pointer)
  }
}
