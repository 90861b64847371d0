// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import SystemCalls
package import Timekeeping

/// Where events go: into the journal with their fields when standard error leads there, else to standard error as
/// lines for a person.
package struct Journal: Sendable {
  private enum Destination {
    case journal
    /// A line each, with the time of day when a person watches.
    case lines(descriptor: Int32, withTime: Bool)
  }

  private let destination: Destination

  /// What is less grave than this is passed over.
  package var level: Priority

  /// Looks at what standard error is.
  package init(level: Priority) {
    self.init(level: level, descriptor: STDERR_FILENO, journalStream: Environment.value(of: "JOURNAL_STREAM"))
  }

  /// - Parameter journalStream: the value of JOURNAL_STREAM: device and inode of the stream to the journal, which
  ///   standard error is only as long as nobody sent it elsewhere (systemd.exec(5)).
  init(level: Priority, descriptor: Int32, journalStream: String?) {
    self.level = level
    if let journalStream, let status = try? Descriptor.status(of: descriptor),
      journalStream == "\(status.st_dev):\(status.st_ino)"
    {
      destination = .journal
    } else {
      destination = .lines(descriptor: descriptor, withTime: isatty(descriptor) == 1)
    }
  }

  /// Whether an entry of this priority would be written: for those who would rather not make one in vain.
  package func takes(_ priority: Priority) -> Bool { priority <= level }

  /// Writes one entry, or does nothing when it is below the level. It never waits; what cannot be written is lost.
  package func log(_ entry: JournalEntry) {
    guard takes(entry.priority) else { return }
    switch destination {
    case .journal:
      if !Journal.send(entry) { Journal.write(entry, to: STDERR_FILENO, withTime: false) }
    case .lines(let descriptor, let withTime):
      Journal.write(entry, to: descriptor, withTime: withTime)
    }
  }

  private static func send(_ entry: JournalEntry) -> Bool {
    let assignments = entry.assignments
    // One piece of memory for all, so that the pointers into it hold together.
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
    guard takesLine(descriptor) else { return }
    let line = line(entry, time: withTime ? timeOfDay() : nil) + "\n"
    do {
      try Descriptor.write(Array(line.utf8), to: descriptor)
    } catch {
      // There is no other place to say that there is no place to say it.
      return
    }
  }

  /// Whether a line can be written without waiting for a reader. Of a pipe poll(2) says so while a page is free, which is
  /// more than a line has. An error of the descriptor is the write's to tell.
  private static func takesLine(_ descriptor: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&request, 1, 0) != 0
  }

  /// As in `08:30:00 warning: the receiver is silent`.
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

  /// The local time of a person who watches.
  private static func timeOfDay() -> String {
    var now = time(nil)
    var parts = unsafe tm()
    guard unsafe localtime_r(&now, &parts) != nil else { return "" }
    let numbers = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
    return numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }
}
