// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Signals that do not interrupt the process: an event loop receives them, or who waits for them.
package enum SignalMask {
  /// Blocks them, so that a loop can watch for them.
  package static func block(_ signals: [Int32]) {
    change(SIG_BLOCK, signals)
  }

  /// Has a blocked signal do what it does by itself: end or stop the process. Comes back when it does neither, or when the
  /// process goes on.
  package static func letThrough(_ signal: Int32) {
    _ = Glibc.signal(signal, SIG_DFL)
    raise(signal)
    change(SIG_UNBLOCK, [signal])
    change(SIG_BLOCK, [signal])
  }

  /// Ends what `block` began.
  package static func unblock(_ signals: [Int32]) {
    change(SIG_UNBLOCK, signals)
  }

  /// Waits for one of these signals, which have to be blocked.
  ///
  /// - Returns: the signal; nil when none came within the time.
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
