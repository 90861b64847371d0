// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Glibc
import SystemCalls

/// The backlog's file: creating it and setting it aside.
struct StoreFile {
  static let name = "backlog.sqlite"
  /// The number of files set aside that are kept: the newest ones.
  static let maximumSetAside = 3

  let directory: String

  var path: String { "\(directory)/\(StoreFile.name)" }

  /// The files that SQLite creates. The shared memory file is that of other programs and of releases before 0.3.0: the
  /// locking is exclusive.
  private static let suffixes = ["", "-wal", "-journal", "-shm"]

  /// The identity of the file and log that are in place now.
  var identity: FileIdentity { state(headers: []).identity }

  /// The state of the file and log that are in place now.
  ///
  /// - Parameter headers: the first bytes of the file and the log.
  func state(headers: [UInt8]) -> FileState {
    let files = [path, path + "-wal"].map { path in
      var status = stat()
      return unsafe lstat(path, &status) == 0 ? status : nil
    }
    return FileState(file: files[0], log: files[1], headers: headers)
  }

  /// Ensures that the directory and the file exist, and that only their owner can read the file.
  ///
  /// - Returns: whether it was created.
  ///
  /// Must be called before SQLite opens the file: closing any other descriptor of the file would drop SQLite's locks.
  func createIfMissing() throws(BacklogStoreError) -> Bool {
    if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw accessError(Errno(errno)) }
    do throws(Errno) {
      let file = Descriptor(
        owning: try Errno.retrying { unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600) })
      let status = try file.status()
      guard status.kind == S_IFREG else { throw Errno(EINVAL) }
      if status.st_mode & 0o077 != 0 { _ = try Errno.retrying { fchmod(file.rawValue, 0o600) } }
      if status.st_size == 0 { try syncDirectory() }
      return status.st_size == 0
    } catch {
      throw accessError(error)
    }
  }

  private func accessError(_ error: Errno) -> BacklogStoreError {
    let isFull = error.code == ENOSPC || error.code == EDQUOT
    let advice =
      switch error.code {
      case EROFS: StoreFile.advice(onReadOnly: directory, stateDirectories: Environment.value(of: "STATE_DIRECTORY"))
      case _ where isFull: "df -h \(directory) and df -i \(directory) show how full it is"
      default: "the service's user must own it and its directory, backlog.directory"
      }
    return BacklogStoreError(
      isFull ? .full : .permissionDenied, "\(path) cannot be made or opened (\(error)); \(advice)")
  }

  /// For the service everything but its own directories is read-only (ProtectSystem=strict): if these are read-only,
  /// the disk is.
  static func advice(onReadOnly directory: String, stateDirectories: String?) -> String {
    let isStateDirectory =
      stateDirectories?.split(separator: ":").contains { directory == $0 || directory.hasPrefix("\($0)/") } ?? false
    let disk = "findmnt -T \(directory) shows its options, journalctl -k the errors of a failing disk"
    return isStateDirectory
      ? "the disk is mounted read-only: \(disk)"
      : "the unit must allow it with ReadWritePaths=\(directory) (\(ManualPage.containers)), or the disk is mounted read-only: "
        + disk
  }

  /// A rename is durable only after its directory was synced.
  private func syncDirectory() throws(Errno) {
    let descriptor = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
    _ = try Errno.retrying { fsync(descriptor.rawValue) }
  }

  /// Renames the file and its companions, and deletes the oldest files that were set aside.
  ///
  /// - Returns: the new name, without the directory.
  func setAside() throws(BacklogStoreError) -> String {
    let numbers = asideNumbers()
    let next = (numbers.max() ?? 0) &+ 1
    let name = "\(StoreFile.name).corrupt-\(next)"
    for suffix in StoreFile.suffixes {
      let (from, to) = (path + suffix, "\(directory)/\(name)\(suffix)")
      if unsafe rename(from, to) != 0, errno != ENOENT { throw accessError(Errno(errno)) }
    }
    for number in numbers.sorted().dropLast(StoreFile.maximumSetAside - 1) {
      for suffix in StoreFile.suffixes {
        // If a file cannot be deleted, the next attempt may succeed.
        _ = unsafe unlink("\(path).corrupt-\(number)\(suffix)")
      }
    }
    do throws(Errno) { try syncDirectory() } catch { throw accessError(error) }
    return name
  }

  private func asideNumbers() -> [Int] {
    guard let stream = unsafe opendir(directory) else { return [] }
    defer { unsafe closedir(stream) }
    var numbers = [Int]()
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      let prefix = "\(StoreFile.name).corrupt-"
      guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)), number > 0 else { continue }
      numbers.append(number)
    }
    return numbers
  }

  /// Size of all files in bytes.
  var size: Int64 {
    var sum: Int64 = 0
    for suffix in StoreFile.suffixes {
      var status = stat()
      if unsafe stat(path + suffix, &status) == 0 { sum += Int64(status.st_size) }
    }
    return sum
  }
}

/// Identifies the file and its log: device and inode numbers are unique while they are open.
package struct FileIdentity: Equatable, Sendable {
  /// Device and inode; nil if the file does not exist.
  private var file: [UInt64]?
  private var log: [UInt64]?

  fileprivate init(file: stat?, log: stat?) {
    self.file = file.map { [UInt64($0.st_dev), UInt64($0.st_ino)] }
    self.log = log.map { [UInt64($0.st_dev), UInt64($0.st_ino)] }
  }

  /// Whether it is the same file, regardless of its log.
  package func isSameFile(as other: FileIdentity) -> Bool { file == other.file }
}

/// What changes when any program writes to the file or its log.
struct FileState: Equatable {
  let identity: FileIdentity
  /// The first bytes of the file and the log.
  let headers: [UInt8]
  /// The sizes and modification times of the file and the log.
  private let versions: [Int]

  fileprivate init(file: stat?, log: stat?, headers: [UInt8]) {
    identity = FileIdentity(file: file, log: log)
    self.headers = headers
    versions = [file, log].flatMap { status in
      status.map { [Int($0.st_size), $0.st_mtim.tv_sec, $0.st_mtim.tv_nsec] } ?? []
    }
  }
}
