// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The write end of the pipe below. It is global because a signal handler has no context.
///
/// `nonisolated(unsafe)` is safe, because it is written only once, before the handler that reads it is installed.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// SIGINT and SIGTERM as a file descriptor that becomes readable.
package struct StopSignals: ~Copyable {
  let descriptor: Int32

  /// Installs the handlers of both signals, and ignores SIGPIPE. Must be called only once.
  package init() {
    var ends: [Int32] = [-1, -1]
    _ = unsafe pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    descriptor = ends[0]
    unsafe signalPipe = ends[1]
    for number in [SIGINT, SIGTERM] {
      _ = signal(number) { _ in
        let saved = errno
        _ = unsafe write(signalPipe, "x", 1)
        errno = saved
      }
    }
    _ = signal(SIGPIPE, SIG_IGN)
    // The signal mask is inherited, and the parent may have blocked both signals.
    var both = sigset_t()
    unsafe sigemptyset(&both)
    unsafe sigaddset(&both, SIGINT)
    unsafe sigaddset(&both, SIGTERM)
    unsafe pthread_sigmask(SIG_UNBLOCK, &both, nil)
  }
}
