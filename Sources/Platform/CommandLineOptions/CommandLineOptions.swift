// SPDX-License-Identifier: Apache-2.0
import CLinux
import ExternalInput
import Glibc
import SystemCalls

/// The options of a command line, parsed by glibc's `getopt_long`, but without its abbreviations: `--credential SECRET`
/// must not mean `--credential-file SECRET`. No message has an option's value, which may be a secret.
package struct CommandLineOptions: Equatable, Sendable {
  /// An option of a program.
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

  /// A usage error, as the end of a sentence: `unknown option "--foo"`.
  package struct Mistake: Error, Equatable, Sendable {
    /// What is wrong and what is expected.
    package let message: String
  }

  /// The given options in order; the value is empty for options that take none.
  package private(set) var given: [(name: String, value: String)] = []
  /// The arguments that are not options.
  package private(set) var operands: [String] = []

  /// - Parameters:
  ///   - arguments: the program or command, followed by its arguments.
  ///   - stopsAtOperand: whether options end at the first operand, as before a command with its own options.
  package init(
    _ arguments: [String], options: [Option], stopsAtOperand: Bool = false
  ) throws(Mistake) {
    if let word = CommandLineOptions.singleDashLongName(in: arguments, options, stopsAtOperand: stopsAtOperand) {
      throw Mistake(message: "unknown option \"-\(word)\"; long options have two dashes: did you mean --\(word)?")
    }
    // The leading colon prevents getopt from printing errors.
    var short = stopsAtOperand ? "+:" : ":"
    for option in options {
      if let letter = option.short { short += "\(letter)\(option.takesValue ? ":" : "")" }
    }
    let names = CStrings(options.map(\.name))
    let words = CStrings(arguments)
    // Values of 256 and above are not letters.
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
      // The last word that getopt has read: the value, if that is a word of its own; otherwise the word with the
      // option.
      let last = Int(fleet_optind()) - 1
      let valueIsWord = unsafe fleet_optarg().map { unsafe UnsafePointer(words.pointers[last]) == $0 } ?? false
      let word = words.text(valueIsWord ? last - 1 : last)
      guard let known, found < 256 || CommandLineOptions.name(in: word) == known.name else {
        throw Mistake(message: CommandLineOptions.mistake(found, at: word, among: options))
      }
      given.append((known.name, unsafe fleet_optarg().map { unsafe String(cString: $0) } ?? ""))
    }
    operands = (Int(fleet_optind())..<max(arguments.count, Int(fleet_optind()))).map { words.text($0) }
  }

  /// The value of the last option with this name; nil if it was not given.
  package func value(_ name: String) -> String? {
    given.last { $0.name == name }?.value
  }

  /// Whether the option was given.
  package func has(_ name: String) -> Bool { value(name) != nil }

  package static func == (left: CommandLineOptions, right: CommandLineOptions) -> Bool {
    left.operands == right.operands
      && left.given.elementsEqual(right.given) { $0.name == $1.name && $0.value == $1.value }
  }

  /// The name of a long option in its word, which may also contain a value.
  private static func name(in word: String) -> String { String(word.dropFirst(2).prefix { $0 != "=" }) }

  /// The name of a long option that was given with one dash, which getopt reads as short options: `-check` as `-c
  /// heck`.
  private static func singleDashLongName(
    in arguments: [String], _ options: [Option], stopsAtOperand: Bool
  ) -> String? {
    var words = arguments.dropFirst()
    while let word = words.popFirst(), word != "--" {
      guard word.hasPrefix("-"), word.count > 1 else {
        if stopsAtOperand { return nil }
        continue
      }
      if word.hasPrefix("--") {
        let hasValue = word.contains("=")
        if !hasValue, options.contains(where: { $0.takesValue && $0.name == name(in: word) }) { _ = words.popFirst() }
        continue
      }
      let written = String(word.dropFirst().prefix { $0 != "=" })
      if written.count > 1, options.contains(where: { $0.name == written }) { return written }
      // A value is the rest of the word, or, if the letter is the last one of the word, the next word.
      let letter = word.dropFirst().first { letter in options.contains { $0.takesValue && $0.short == letter } }
      if let letter, word.last == letter { _ = words.popFirst() }
    }
    return nil
  }

  /// The message for an option that was rejected. getopt sets `optopt` to the letter of a short option, to the value
  /// that stands for a long one, or to 0 for an unknown long one.
  private static func mistake(_ found: Int32, at word: String, among options: [Option]) -> String {
    let letter = fleet_optopt()
    let name = name(in: word)
    guard found < 256, letter != 0, letter < 256 || options[Int(letter) - 256].name == name else {
      let hint = NearestName.find(name, among: options.map(\.name)).map { "; did you mean --\($0)?" } ?? ""
      return "unknown option \"--\(name)\"\(hint)"
    }
    if found == Int32(UInt8(ascii: ":")) { return "\(word) wants a value" }
    if letter >= 256 { return "--\(name) takes no value" }
    return "unknown option \"-\(Character(UnicodeScalar(UInt8(truncatingIfNeeded: letter))))\""
  }
}
