// SPDX-License-Identifier: Apache-2.0

/// Access to the machine that the settings may refer to: files, environment variables and the host name. Tests pass
/// their own.
package struct ConfigurationEnvironment {
  /// Why a file cannot be read.
  package enum FileProblem: Error, Equatable, Sendable {
    case missing
    case directory
    case notRegular
    case tooLarge
    /// This user may not read it.
    case permissionDenied
    /// The system's error, such as "Input/output error".
    case systemError(String)

    /// The end of a sentence that begins with the name of the file.
    var explanation: String {
      switch self {
      case .missing: "does not exist"
      case .directory: "is a directory; a file is expected"
      case .notRegular: "is not a regular file"
      case .tooLarge: "is too large"
      case .permissionDenied: "cannot be read: Permission denied"
      case .systemError(let reason): "cannot be read: \(reason)"
      }
    }
  }

  /// The contents of a file of at most `limit` bytes.
  package var readFile: (_ path: String, _ limit: Int) throws(FileProblem) -> [UInt8]
  /// The names in a directory, in any order; empty if it does not exist.
  package var listDirectory: (_ path: String) throws(FileProblem) -> [String]
  /// An environment variable; nil if it is not set.
  package var variable: (_ name: String) -> String?
  /// The name of this machine; nil if it has none.
  package var hostname: () -> String?

  /// For tests; the real machine is `system`.
  package init(
    readFile: @escaping (_ path: String, _ limit: Int) throws(FileProblem) -> [UInt8],
    listDirectory: @escaping (_ path: String) throws(FileProblem) -> [String],
    variable: @escaping (_ name: String) -> String?,
    hostname: @escaping () -> String?
  ) {
    self.readFile = readFile
    self.listDirectory = listDirectory
    self.variable = variable
    self.hostname = hostname
  }
}
