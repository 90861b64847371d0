// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The baud rates of termios.
package nonisolated enum BaudRate {
  private static let speeds: [(baud: Int, speed: speed_t)] = [
    (1200, speed_t(B1200)), (2400, speed_t(B2400)), (4800, speed_t(B4800)), (9600, speed_t(B9600)),
    (19_200, speed_t(B19200)), (38_400, speed_t(B38400)), (57_600, speed_t(B57600)), (115_200, speed_t(B115200)),
    (230_400, speed_t(B230400)), (460_800, speed_t(B460800)), (500_000, speed_t(B500000)),
    (576_000, speed_t(B576000)), (921_600, speed_t(B921600)), (1_000_000, speed_t(B1000000)),
    (1_500_000, speed_t(B1500000)), (2_000_000, speed_t(B2000000)), (3_000_000, speed_t(B3000000)),
  ]

  /// The supported rates in bits per second, ascending.
  package static let all: [Int] = speeds.map(\.baud)

  /// Nil if termios does not support the baud rate.
  static func speed(_ baud: Int) -> speed_t? { speeds.first { $0.baud == baud }?.speed }
}
