// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// The input of a command: a file, FIFO or standard input, read with blocking calls.
struct CommandInput: ~Copyable {
  /// The path, or "standard input", for messages.
  let name: String
  private let descriptor: Descriptor

  /// - Parameter path: `-` is standard input.
  init(path: String) throws(CommandError) {
    let name = path == "-" ? "standard input" : path
    // Before any property is set: Swift 6.2 cannot throw from a partly initialized noncopyable value.
    let descriptor = try CommandInput.open(path, name)
    self.name = name
    self.descriptor = descriptor
  }

  private static func open(_ path: String, _ name: String) throws(CommandError) -> Descriptor {
    do throws(Errno) {
      let descriptor =
        path == "-" ? try Descriptor.duplicate(of: STDIN_FILENO) : try Descriptor.open(path, O_RDONLY)
      if try descriptor.status().kind == S_IFDIR { throw Errno(EISDIR) }
      return descriptor
    } catch {
      throw refusal(name, error)
    }
  }

  /// Reads the available bytes into the buffer, waiting for the first one.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  func read(into buffer: inout [UInt8]) throws(CommandError) -> Int {
    while true {
      do throws(Errno) {
        switch try descriptor.read(into: &buffer) {
        case .bytes(let count): return count
        case .end: return 0
        // Another program may have made standard input non-blocking.
        case .wouldBlock: try descriptor.waitUntilReadable()
        }
      } catch {
        throw CommandError(.io, "\(name): cannot be read: \(error)")
      }
    }
  }

  private static func refusal(_ path: String, _ error: Errno) -> CommandError {
    switch error.code {
    case ENOENT, ENOTDIR: CommandError(.noInput, "\(path): no such file; check the path")
    case EISDIR: CommandError(.noInput, "\(path): is a directory; give a file in it")
    case EACCES, EPERM:
      CommandError(.permission, "\(path): permission denied; run as a user who may read it, or change its mode")
    default: CommandError(.noInput, "\(path): cannot be opened: \(error)")
    }
  }
}
