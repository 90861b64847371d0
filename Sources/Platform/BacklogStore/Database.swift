// SPDX-License-Identifier: Apache-2.0
import CSQLite
import Glibc
import SystemCalls

/// An SQLite connection. It belongs to one thread.
@safe final class Database {
  fileprivate let raw: OpaquePointer
  let path: String

  /// - Parameter path: an existing file.
  init(path: String) throws(BacklogStoreError) {
    self.path = path
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
    let code = unsafe sqlite3_open_v2(path, &handle, flags, nil)
    guard let handle = unsafe handle else { throw BacklogStoreError(.failed, "\(path): out of memory") }
    unsafe raw = handle
    // From here on, `deinit` closes the handle, which is required even after a failure.
    guard code == SQLITE_OK else { throw error(code) }
  }

  deinit { unsafe sqlite3_close_v2(raw) }

  /// Runs statements without results.
  func run(_ sql: String) throws(BacklogStoreError) {
    let code = unsafe sqlite3_exec(raw, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  func prepare(_ sql: String) throws(BacklogStoreError) -> Statement {
    var statement: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(raw, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw error(code) }
    return unsafe Statement(statement, of: self)
  }

  /// The first column of the first row, as an integer; 0 if there is no row.
  func number(_ sql: String) throws(BacklogStoreError) -> Int64 {
    let statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : 0
  }

  /// The first column of the first row, as text; empty if there is no row.
  func text(_ sql: String) throws(BacklogStoreError) -> String {
    let statement = try prepare(sql)
    return try statement.step() ? statement.text(0) : ""
  }

  /// Commits all changes of `body`, or none.
  func transaction(_ body: () throws(BacklogStoreError) -> Void) throws(BacklogStoreError) {
    try run("BEGIN IMMEDIATE")
    do throws(BacklogStoreError) {
      try body()
      try run("COMMIT")
    } catch {
      // After some failures the transaction has been rolled back already; this then fails, which does not matter.
      _ = unsafe sqlite3_exec(raw, "ROLLBACK", nil, nil, nil)
      throw error
    }
  }

  /// The first bytes of the file and of its log, which identify both and their last checkpoint.
  var headers: [UInt8] {
    [(SQLITE_FCNTL_FILE_POINTER, 100), (SQLITE_FCNTL_JOURNAL_POINTER, 32)].flatMap { which, count in
      var bytes = [UInt8](repeating: 0, count: count)
      // Bytes that cannot be read stay zero, and so differ from what was there.
      _ = unsafe bytes.withUnsafeMutableBytes {
        unsafe fleet_sqlite_read_file(raw, which, $0.baseAddress, Int32(clamping: count))
      }
      return bytes
    }
  }

  /// Drops the pages in memory that are also on disk.
  func releaseMemory() { _ = unsafe sqlite3_db_release_memory(raw) }

  /// From now on, closing leaves the WAL file in place: the path may belong to another file.
  func keepWALOnClose() {
    var isPersistent: CInt = 1
    // A VFS without this control has no WAL either.
    _ = unsafe sqlite3_file_control(raw, nil, SQLITE_FCNTL_PERSIST_WAL, &isPersistent)
  }

  fileprivate func error(_ code: Int32) -> BacklogStoreError {
    Database.error(
      code, unsafe String(cString: sqlite3_errmsg(raw)), systemErrno: unsafe sqlite3_system_errno(raw), path: path)
  }

  /// The error for SQLite's code, with the remedy.
  ///
  /// - Parameter systemErrno: that of the failed system call; 0 if there was none.
  static func error(_ code: Int32, _ message: String, systemErrno: Int32, path: String) -> BacklogStoreError {
    let reason = systemErrno > 0 ? Errno(systemErrno).description : message
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_SCHEMA, SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_CONSTRAINT:
      return BacklogStoreError(.damaged, "\(path) is damaged: \(message)")
    case SQLITE_BUSY, SQLITE_LOCKED:
      return BacklogStoreError(
        .busy, "\(path) is used by another process; stop the other fleet-locationd, or set another backlog.directory")
    case SQLITE_FULL:
      return BacklogStoreError(
        .full, "\(path): no room; make some on the disk, or raise backlog.max_size if the file has reached it")
    // Not even the log can be created.
    case SQLITE_CANTOPEN where systemErrno == ENOSPC:
      return BacklogStoreError(.full, "\(path): no room (\(reason)); make some on the disk")
    // SQLite has a code of its own for a full disk only.
    case SQLITE_IOERR where systemErrno == EDQUOT, SQLITE_CANTOPEN where systemErrno == EDQUOT:
      return BacklogStoreError(.full, "\(path): no room (\(reason)); raise the quota, or make room within it")
    // The file system permits writing, so it is the file's own header that does not.
    case SQLITE_READONLY where code == SQLITE_READONLY && FileAccess.error(path, W_OK) == nil:
      return BacklogStoreError(.damaged, "\(path) is damaged: its header forbids writing")
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN:
      return BacklogStoreError(
        .permissionDenied, "\(path) cannot be written (\(reason)); the service's user must own it and its directory")
    default:
      return BacklogStoreError(.failed, "\(path): \(message)\(systemErrno > 0 ? " (\(reason))" : "")")
    }
  }
}

/// A prepared statement, for one row at a time.
@safe final class Statement {
  private let raw: OpaquePointer
  /// The connection outlives its statements.
  private let database: Database

  fileprivate init(_ raw: OpaquePointer, of database: Database) {
    unsafe self.raw = raw
    self.database = database
  }

  deinit { unsafe sqlite3_finalize(raw) }

  /// Resets the statement, so that it can be run with other values.
  func reset() {
    // The result is the error of the last step, which has been reported.
    _ = unsafe sqlite3_reset(raw)
  }

  /// - Returns: whether there is a row.
  func step() throws(BacklogStoreError) -> Bool {
    let code = unsafe sqlite3_step(raw)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.error(code)
    }
  }

  /// Runs the statement once with these values, without results.
  func run(_ values: Value...) throws(BacklogStoreError) {
    defer { reset() }
    try bind(values)
    _ = try step()
  }

  enum Value {
    case integer(Int64)
    case real(Double?)
    case text(String)
  }

  func bind(_ values: [Value]) throws(BacklogStoreError) {
    for (index, value) in values.enumerated() {
      let place = Int32(clamping: index + 1)
      let code: Int32
      switch value {
      case .integer(let number): code = unsafe sqlite3_bind_int64(raw, place, number)
      case .real(let number?): code = unsafe sqlite3_bind_double(raw, place, number)
      case .real(nil): code = unsafe sqlite3_bind_null(raw, place)
      case .text(let text):
        code = unsafe fleet_sqlite_bind_text(raw, place, text, Int32(clamping: text.utf8.count))
      }
      guard code == SQLITE_OK else { throw database.error(code) }
    }
  }

  /// A column of the row, counted from 0.
  func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(raw, column) }

  /// Whether the column is an integer: in a damaged file it may be anything.
  func isInteger(_ column: Int32) -> Bool { unsafe sqlite3_column_type(raw, column) == SQLITE_INTEGER }

  /// Nil for NULL; not-a-number for any other type that is not a number.
  func real(_ column: Int32) -> Double? {
    switch unsafe sqlite3_column_type(raw, column) {
    case SQLITE_NULL: nil
    case SQLITE_FLOAT, SQLITE_INTEGER: unsafe sqlite3_column_double(raw, column)
    default: .nan
    }
  }

  func text(_ column: Int32) -> String {
    guard let text = unsafe sqlite3_column_text(raw, column) else { return "" }
    return unsafe String(cString: text)
  }
}
