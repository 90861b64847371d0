// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import SystemCalls
package import Timekeeping

/// Writes events with their fields to the journal if standard error is connected to it, and otherwise as lines to
/// standard error.
package struct Journal: Sendable {
  private enum Destination {
    /// The connection shows whether journald reads, because sd_journal_sendv(3) would wait for it. The stream is for
    /// entries that cannot be sent.
    case journal(DatagramConnection?, stream: Int32)
    /// One line each, with the time of day on a terminal.
    case lines(descriptor: Int32, withTime: Bool)
  }

  private let destination: Destination

  /// Entries that are less severe than this are discarded.
  package var level: Priority

  /// Detects what standard error is connected to.
  package init(level: Priority) {
    self.init(level: level, descriptor: STDERR_FILENO, journalStream: Environment.value(of: "JOURNAL_STREAM"))
  }

  /// - Parameters:
  ///   - journalStream: the value of JOURNAL_STREAM: device and inode of the stream to the journal, which may be
  ///     redirected (systemd.exec(5)).
  ///   - socket: journald's, for entries with fields.
  init(
    level: Priority, descriptor: Int32, journalStream: String?, socket: String = "/run/systemd/journal/socket"
  ) {
    self.level = level
    if let journalStream, let status = try? Descriptor.status(of: descriptor),
      journalStream == "\(status.st_dev):\(status.st_ino)"
    {
      destination = .journal(DatagramConnection(socket), stream: descriptor)
    } else {
      destination = .lines(descriptor: descriptor, withTime: isatty(descriptor) == 1)
    }
  }

  /// Whether an entry of this priority would be written. To be checked first where creating an entry is costly.
  package func accepts(_ priority: Priority) -> Bool { priority <= level }

  /// Writes an entry, unless it is below the level. Never blocks; entries that cannot be written are lost.
  package func log(_ entry: JournalEntry) {
    guard accepts(entry.priority) else { return }
    switch destination {
    case .journal(let connection, let stream):
      let isSent = connection?.canSend != false && Journal.send(entry)
      if !isSent { Journal.write(entry, to: stream, withTime: false) }
    case .lines(let descriptor, let withTime):
      Journal.write(entry, to: descriptor, withTime: withTime)
    }
  }

  private static func send(_ entry: JournalEntry) -> Bool {
    let assignments = entry.assignments
    // One buffer for all assignments, so that the pointers into it stay valid.
    var bytes: [UInt8] = []
    for assignment in assignments { bytes.append(contentsOf: assignment) }
    return unsafe bytes.withUnsafeMutableBytes { memory in
      var offset = 0
      var pieces: [iovec] = unsafe []
      for assignment in assignments {
        unsafe pieces.append(iovec(iov_base: memory.baseAddress.map { unsafe $0 + offset }, iov_len: assignment.count))
        offset += assignment.count
      }
      return unsafe sd_journal_sendv(pieces, Int32(clamping: pieces.count)) >= 0
    }
  }

  private static func write(_ entry: JournalEntry, to descriptor: Int32, withTime: Bool) {
    guard canWriteLine(descriptor) else { return }
    let line = line(entry, time: withTime ? timeOfDay() : nil) + "\n"
    do {
      try Descriptor.write(Array(line.utf8), to: descriptor)
    } catch {
      // There is no other place to report this.
      return
    }
  }

  /// Whether a line can be written without blocking. For a pipe, poll(2) reports this while a page is free, and a page
  /// is larger than a line. Errors are reported by the write.
  private static func canWriteLine(_ descriptor: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&request, 1, 0) != 0
  }

  /// The line for an entry, as in `08:30:00 warning: the receiver is silent`.
  static func line(_ entry: JournalEntry, time: String?) -> String {
    let label =
      switch entry.priority {
      case .error: "error: "
      case .warning: "warning: "
      case .debug: "debug: "
      case .notice, .info: ""
      }
    return "\(time.map { $0 + " " } ?? "")\(label)\(entry.message.onOneLine)"
  }

  /// The local time.
  private static func timeOfDay() -> String {
    var now = time(nil)
    var parts = unsafe tm()
    guard unsafe localtime_r(&now, &parts) != nil else { return "" }
    let numbers = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
    return numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }
}
