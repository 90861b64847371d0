// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc

extension EventLoop {
  /// Blocks the signals of the loop (TERM, INT, HUP, USR1, USR2, CHLD) and ignores SIGPIPE.
  ///
  /// Must be the first call in a synchronous `main`: threads inherit the mask, so none may exist yet, and a signal that
  /// arrives before the loop watches for it stays pending instead of terminating the process. Child processes inherit
  /// the mask as well, so it must be cleared when spawning (POSIX_SPAWN_SETSIGMASK).
  package static func blockSignals() {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD] { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// Blocks only SIGCHLD, which the loop needs to wait for a child: for programs that Ctrl-C is to end at once.
  package static func blockChildSignal() {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGCHLD)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Calls the handler once for each signal, each time in a separate iteration of the loop. The signal must be blocked.
  ///
  /// - Throws: code `source`; the cause is EBUSY if the signal is not blocked or is watched already.
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
