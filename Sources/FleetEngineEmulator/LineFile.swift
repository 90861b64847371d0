// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A file to which lines are appended; each is visible to other programs as soon as it is written.
package struct LineFile: ~Copyable {
  private let descriptor: Int32
  private let ownsDescriptor: Bool

  /// Standard output.
  package static var standardOutput: LineFile { LineFile(descriptor: STDOUT_FILENO, ownsDescriptor: false) }

  private init(descriptor: Int32, ownsDescriptor: Bool) {
    self.descriptor = descriptor
    self.ownsDescriptor = ownsDescriptor
  }

  /// Opens the file for appending, or empties it if `truncating`; creates it, readable only by its owner, if it does
  /// not exist.
  ///
  /// - Throws: `EmulatorError` with the file's name.
  package init(path: String, truncating: Bool = false) throws(EmulatorError) {
    let mode = O_WRONLY | O_CREAT | O_CLOEXEC | (truncating ? O_TRUNC : O_APPEND)
    descriptor = unsafe open(path, mode, 0o600)
    ownsDescriptor = true
    guard descriptor >= 0 else {
      let reason = unsafe String(cString: strerror(errno))
      throw EmulatorError(.recording, "cannot write to \(path): \(reason)")
    }
  }

  deinit { if ownsDescriptor { _ = close(descriptor) } }

  /// - Returns: whether the whole line was written.
  @discardableResult
  package borrowing func add(_ line: String) -> Bool {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
