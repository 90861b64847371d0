// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import SystemCalls

extension EventLoop {
  /// Blocks the signals that the loop is to receive (TERM, INT, HUP, USR1, USR2, CHLD) and ignores SIGPIPE.
  ///
  /// The first act of a synchronous `main`: threads inherit the mask, so none may exist yet, and a signal that comes
  /// before the loop watches for it waits instead of killing. A child inherits the mask as well, and whoever spawns
  /// one must clear it (POSIX_SPAWN_SETSIGMASK).
  package static func blockSignals() {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD] { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// Blocks SIGCHLD alone, which the loop needs to wait for a child: for a program that a key press is to end at once.
  package static func blockChildSignal() {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGCHLD)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Calls the handler in a turn of its own for each arrival of the signal, which must be blocked.
  ///
  /// - Throws: code `source`; the cause is EBUSY when the signal is not blocked or is watched already.
  package func addSignal(
    _ signal: Int32, _ handler: @escaping () -> Void
  ) throws(EventLoopError) -> EventSource<Void> {
    try unsafe makeSource("watch signal \(signal)", handler) { event, slot, context in
      unsafe sd_event_add_signal(
        event, slot, signal,
        { _, _, context in
          unsafe EventSource<Void>.dispatch((), to: context)
          return 0
        }, context)
    }
  }
}
