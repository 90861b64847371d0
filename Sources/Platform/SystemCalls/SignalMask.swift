// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Blocks signals, so that an event loop or sigtimedwait(2) receives them.
package enum SignalMask {
  /// Blocks signals.
  package static func block(_ signals: [Int32]) {
    change(SIG_BLOCK, signals)
  }

  /// Performs the default action of a blocked signal: terminate or stop the process. Returns if the signal has none, or
  /// when the process continues.
  package static func performDefaultAction(of signal: Int32) {
    _ = Glibc.signal(signal, SIG_DFL)
    raise(signal)
    change(SIG_UNBLOCK, [signal])
    change(SIG_BLOCK, [signal])
  }

  /// Unblocks signals.
  package static func unblock(_ signals: [Int32]) {
    change(SIG_UNBLOCK, signals)
  }

  /// Waits for one of these signals, which must be blocked.
  ///
  /// - Returns: the signal; nil after the timeout.
  package static func wait(for signals: [Int32], atMost time: Duration) -> Int32? {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    let (seconds, attoseconds) = time.components
    var limit = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    let signal = unsafe sigtimedwait(&set, nil, &limit)
    return signal > 0 ? signal : nil
  }

  private static func change(_ how: Int32, _ signals: [Int32]) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(how, &set, nil)
  }
}
