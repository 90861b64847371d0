// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

extension ConfigurationEnvironment {
  /// The machine that this process runs on.
  package static var system: ConfigurationEnvironment {
    ConfigurationEnvironment(
      readFile: SystemFiles.read, listDirectory: SystemFiles.list,
      variable: Environment.value(of:),
      hostname: {
        var name = [CChar](repeating: 0, count: 256)
        // The last byte remains zero, even if the name is truncated.
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.isEmpty ? nil : text
      })
  }
}

private enum SystemFiles {
  typealias FileProblem = ConfigurationEnvironment.FileProblem

  static func read(_ path: String, _ limit: Int) throws(FileProblem) -> [UInt8] {
    // Only a regular file is opened: opening and closing a FIFO would end its writer.
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw problem(errno) }
    try requireRegular(status)
    // O_NONBLOCK: a FIFO may have taken its place.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw problem(errno) }
    defer { close(file) }
    guard unsafe fstat(file, &status) == 0 else { throw problem(errno) }
    try requireRegular(status)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe Glibc.read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw problem(errno) }
      guard count > 0 else { return bytes }
      bytes += chunk.prefix(count)
      guard bytes.count <= limit else { throw .tooLarge }
    }
  }

  private static func requireRegular(_ status: stat) throws(FileProblem) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw .directory
    default: throw .notRegular
    }
  }

  static func list(_ path: String) throws(FileProblem) -> [String] {
    guard let directory = unsafe opendir(path) else {
      switch errno {
      case ENOENT: return []
      case ENOTDIR: throw .systemError(unsafe String(cString: strerror(ENOTDIR)))
      default: throw problem(errno)
      }
    }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(directory) else {
        guard errno == 0 else { throw problem(errno) }
        return names
      }
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
  }

  private static func problem(_ code: Int32) -> FileProblem {
    switch code {
    case ENOENT, ENOTDIR: return .missing
    case EISDIR: return .directory
    case EACCES: return .permissionDenied
    default: return .systemError(unsafe String(cString: strerror(code)))
    }
  }
}
