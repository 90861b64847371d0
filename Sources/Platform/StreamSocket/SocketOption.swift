// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Sets options of sockets by setsockopt(2).
nonisolated enum SocketOption {
  /// Enables an option.
  static func enable(_ descriptor: Int32, _ level: Int32, _ option: Int32) throws(Errno) {
    try set(descriptor, level, option, 1)
  }

  static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) throws(Errno) {
    var value = value
    _ = try Errno.retrying {
      unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
  }

  /// Enables TCP keep-alive, which detects a dead peer after 90 s of silence. Errors are ignored, because sources have
  /// timeouts of their own.
  static func enableKeepAlive(_ descriptor: Int32) {
    try? enable(descriptor, SOL_SOCKET, SO_KEEPALIVE)
    try? set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
    try? set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
    try? set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
  }
}
