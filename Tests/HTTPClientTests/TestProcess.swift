// SPDX-License-Identifier: Apache-2.0
import EventLoop
import FileTesting
import Glibc
import Testing
import Timekeeping

/// A program that a test runs, and its standard output.
final class TestProcess {
  private var process: pid_t = 0
  private var output: Int32 = -1
  private var text = ""

  init(_ path: String, _ arguments: [String]) throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let result = posix_spawn(&process, path, &actions, nil, &words, environ)
    close(ends[1])
    output = ends[0]
    try #require(result == 0)
  }

  isolated deinit {
    if process > 0 {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
    close(output)
  }

  /// Waits until the program exits. Returns false if it failed.
  func finish() -> Bool {
    var status: Int32 = 0
    let isDone = waitpid(process, &status, 0) == process && status == 0
    process = 0
    return isDone
  }

  /// Waits until the complete lines so far satisfy `isEnough`, and returns them. While it waits, it runs `loop`. Fails
  /// after ten seconds without output, or, with a loop, after 2000 iterations of up to 10 ms.
  func lines(running loop: EventLoop? = nil, until isEnough: ([String]) -> Bool) throws -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    for _ in 0..<2000 {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
      if isEnough(lines) { return lines }
      _ = try loop?.runOnce(timeout: .milliseconds(5))
      var descriptor = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&descriptor, 1, loop == nil ? 10_000 : 5) > 0 else {
        if loop == nil { break }
        continue
      }
      let count = read(output, &buffer, buffer.count)
      guard count > 0 else { break }
      text += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    Issue.record("the program wrote only: \(text)")
    return []
  }
}

/// A server of Tests/Interop/http2 with a certificate of its own for localhost.
final class ScriptedTLSServer {
  let port: Int
  let certificateFile: String
  private let directory: TemporaryDirectory
  private let process: TestProcess

  /// Runs scripted_server.py with this script.
  convenience init(_ script: String, alpn: String) throws {
    try self.init("scripted_server.py", [script, alpn])
  }

  /// - Parameter arguments: those that follow the certificate and its key.
  init(_ program: String, _ arguments: [String]) throws {
    directory = try TemporaryDirectory()
    certificateFile = directory("cert.pem")
    let key = directory("key.pem")
    let openssl = try TestProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
        key, "-out", certificateFile, "-days", "10", "-subj", "/CN=test", "-addext",
        "subjectAltName=DNS:localhost",
      ])
    try #require(openssl.finish())
    let path = "\(#filePath)".split(separator: "/").dropLast(2).joined(separator: "/")
    process = try TestProcess(
      "/usr/bin/python3",
      ["/\(path)/Interop/http2/\(program)", certificateFile, key] + arguments)
    let first = try process.lines { !$0.isEmpty }.first ?? ""
    port = try #require(Int(first.dropFirst("port ".count)))
  }

  /// Waits until the complete lines of the output satisfy `isEnough`, and returns them.
  func lines(running loop: EventLoop? = nil, until isEnough: ([String]) -> Bool) throws -> [String] {
    try process.lines(running: loop, until: isEnough)
  }
}
