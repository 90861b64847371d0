// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Signals that an event loop receives in place of the process.
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

  private static func change(_ how: Int32, _ signals: [Int32]) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(how, &set, nil)
  }
}
