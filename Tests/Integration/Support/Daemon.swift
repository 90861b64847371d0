// SPDX-License-Identifier: Apache-2.0
import FileTesting
import Glibc

/// A running `fleet-locationd` with the test as its service manager.
final class Daemon {
  let process: ChildProcess
  let notifications: NotifySocket

  init(
    settings: String, directory: TemporaryDirectory, environment: [String: String] = [:], input: String = "/dev/null"
  ) throws {
    let path = directory("notify")
    unlink(path)
    notifications = try NotifySocket(path: path)
    process = try ChildProcess(
      "fleet-locationd", ["--config", settings],
      environment: ["NOTIFY_SOCKET": path].merging(environment) { $1 }, input: input)
  }

  init(process: ChildProcess, notifications: NotifySocket) {
    self.process = process
    self.notifications = notifications
  }

  var sources: [any Readable] { process.sources + [notifications] }
  var log: [String] { process.errors.lines }
  var statuses: [String] { notifications.statuses }

  func logs(_ part: String) -> Bool { log.contains { $0.contains(part) } }
  func shows(_ part: String) -> Bool { statuses.contains { $0.contains(part) } }

  /// The log and status, for the message of a test that failed.
  var transcript: String {
    (["standard error:"] + log + ["notifications:"]
      + notifications.messages.map { $0.assignments.map { "\($0)=\($1)" }.sorted().joined(separator: " ") })
      .joined(separator: "\n  ")
  }
}
