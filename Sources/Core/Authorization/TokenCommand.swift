// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
import Timekeeping

/// A program that prints a token: its arguments and the format of its output. It is run without a shell.
package struct TokenCommand: Equatable, Sendable {
  /// The program's absolute path and its arguments, with placeholders as in `{vehicle_id}`.
  package var arguments: [String]
  /// How its standard output is read.
  package var format: TokenResponseFormat
  /// The timeout of a run, after which the program is terminated.
  package var deadline: Duration

  /// The maximum size of its standard output, in bytes; more is an error.
  package static let maximumOutputSize = TokenEndpoint.maximumResponseSize

  package init(arguments: [String], format: TokenResponseFormat, deadline: Duration = .seconds(15)) {
    self.arguments = arguments
    self.format = format
    self.deadline = deadline
  }

  /// One run of the program.
  package struct Invocation: Equatable, Sendable {
    /// With the program's path first.
    package var arguments: [String]
    /// Variables in addition to the environment of this process.
    package var environment: [(name: String, value: String)]
    /// Time until it is terminated; more than zero.
    package var deadline: Duration
    /// The maximum size of its standard output, in bytes; it is terminated if it writes more.
    package var maximumOutputSize: Int

    package static func == (left: Invocation, right: Invocation) -> Bool {
      left.arguments == right.arguments && left.deadline == right.deadline
        && left.maximumOutputSize == right.maximumOutputSize
        && left.environment.elementsEqual(right.environment) { $0.name == $1.name && $0.value == $1.value }
    }
  }

  /// The result of a run.
  package struct Outcome: Equatable, Sendable {
    /// How the run ended.
    package enum Ending: Equatable, Sendable {
      /// It exited with this code.
      case exited(Int32)
      /// It was killed by this signal, which the daemon did not send.
      case killed(Int32)
      /// It was terminated at its deadline.
      case timedOut
      /// It was terminated because it wrote too much.
      case tooLarge
      /// It could not be started; the text says why, as in `No such file or directory`.
      case notStarted(String)
    }

    /// How it ended. The output is only used after exit code 0.
    package var ending: Ending
    /// Its standard output.
    package var output: [UInt8]
    /// The first lines of its standard error.
    package private(set) var errorLines: [ExternalText]

    /// - Parameters:
    ///   - errors: the bytes of standard error.
    ///   - names: the names of provider and vehicle, which are not hidden if the program writes them.
    package init(_ ending: Ending, output: [UInt8] = [], errors: [UInt8] = [], showing names: [String] = []) {
      self.ending = ending
      self.output = output
      errorLines = errors.split(whereSeparator: { $0 == 10 || $0 == 13 }).prefix(10)
        .map { ExternalText($0, showing: names) }.filter { !$0.isBlank }
    }
  }

  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext`.
  func invocation(for context: AuthorizationContext) throws(TokenFailure) -> Invocation {
    var expanded: [String] = []
    for argument in arguments { expanded.append(try ContextTemplate.expand(argument, context) { $0 }) }
    var environment = context.variables.filter { $0.name.hasSuffix("_id") }
      .map { (name: $0.name.uppercased(), value: $0.value) }
    environment.append((name: "TOKEN_SCOPE", value: context.scope.name))
    return Invocation(
      arguments: expanded, environment: environment, deadline: deadline,
      maximumOutputSize: TokenCommand.maximumOutputSize)
  }

  /// The output of a successful run.
  ///
  /// - Throws: `TokenFailure` that names the program.
  func response(_ outcome: Outcome) throws(TokenFailure) -> TokenResponseFormat.Response {
    let program = "the token command \(arguments.first ?? "")"
    switch outcome.ending {
    case .exited(0): break
    case .exited(let code):
      throw TokenFailure(
        .program("exit\(code)"),
        "\(program) ended with exit code \(code)\(outcome.errorLines.last.map { ": \($0)" as Sentence } ?? "; it must end with 0")"
      )
    case .killed(let signal):
      throw TokenFailure(.program("signal\(signal)"), "\(program) was ended by signal \(signal)")
    case .timedOut:
      throw TokenFailure(
        .program("timedOut"),
        "\(program) took longer than \(deadline.wholeSeconds) s (token.deadline, at most 60s) and was ended")
    case .tooLarge:
      throw TokenFailure(
        .program("tooLarge"),
        "\(program) printed more than \(TokenCommand.maximumOutputSize) bytes, or much more on standard error, and was ended; one JSON object is expected"
      )
    case .notStarted(let why):
      throw TokenFailure(
        .program("notStarted"),
        "\(program) cannot be run: \(why)")
    }
    return TokenResponseFormat.Response(body: outcome.output, origin: program)
  }
}
