// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// The options of a command line, by the rules of `getopt_long`, but without its abbreviations: `--credential SECRET`
/// must not be `--credential-file SECRET`. No message has an option's value, which may be a secret.
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

  /// The given options in order; the value is empty for options without one.
  package private(set) var given: [(name: String, value: String)] = []
  /// The arguments that are not options.
  package private(set) var operands: [String] = []

  /// - Parameters:
  ///   - arguments: the program or command, followed by its arguments.
  ///   - stopsAtOperand: whether options end at the first operand, as before a command with its own options.
  package init(
    _ arguments: [String], options: [Option], stopsAtOperand: Bool = false
  ) throws(Mistake) {
    var words = arguments.dropFirst()
    while let word = words.popFirst() {
      if word == "--" { break }
      if word.hasPrefix("--") {
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let option = options.first(where: { $0.name == name }) else {
          throw .unknown("--\(name)", CommandLineOptions.hint(name, among: options))
        }
        guard parts.count == 1 || option.takesValue else { throw Mistake(message: "--\(name) takes no value") }
        let following: String? = parts.count == 2 ? String(parts[1]) : option.takesValue ? words.popFirst() : ""
        guard let value = following else { throw Mistake(message: "--\(name) wants a value") }
        given.append((name, value))
      } else if word.hasPrefix("-"), word != "-" {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
          guard let option = options.first(where: { $0.short == letter }) else { throw .unknown("-\(letter)", "") }
          guard option.takesValue else {
            given.append((option.name, ""))
            continue
          }
          guard let value = letters.isEmpty ? words.popFirst() : String(letters) else {
            throw Mistake(message: "-\(letter) wants a value")
          }
          given.append((option.name, value))
          break
        }
      } else {
        operands.append(word)
        if stopsAtOperand { break }
      }
    }
    operands += words
  }

  /// The value of the last option of that name; nil if it was not given.
  package func value(_ name: String) -> String? {
    given.last { $0.name == name }?.value
  }

  /// Whether the option was given.
  package func has(_ name: String) -> Bool { value(name) != nil }

  package static func == (left: CommandLineOptions, right: CommandLineOptions) -> Bool {
    left.operands == right.operands
      && left.given.elementsEqual(right.given) { $0.name == $1.name && $0.value == $1.value }
  }

  /// A close name, as the end of a sentence; empty if there is none.
  private static func hint(_ name: String, among options: [Option]) -> String {
    NearestName.find(name, among: options.map(\.name)).map { "; did you mean --\($0)?" } ?? ""
  }
}

extension CommandLineOptions.Mistake {
  fileprivate static func unknown(_ option: String, _ hint: String) -> Self {
    Self(message: "unknown option \"\(option)\"\(hint)")
  }
}
