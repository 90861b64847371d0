// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Options of sockets, by setsockopt(2).
nonisolated enum SocketOption {
  /// Turns an option on.
  static func enable(_ descriptor: Int32, _ level: Int32, _ option: Int32) throws(Errno) {
    try set(descriptor, level, option, 1)
  }

  static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) throws(Errno) {
    var value = value
    _ = try Errno.retrying {
      unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
  }

  /// A peer that has vanished without a word is noticed after a minute and a half of silence. Without it a connection is none the
  /// worse: how long a source may be silent is decided elsewhere.
  static func keepAlive(_ descriptor: Int32) {
    try? enable(descriptor, SOL_SOCKET, SO_KEEPALIVE)
    try? set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
    try? set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
    try? set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
  }
}
