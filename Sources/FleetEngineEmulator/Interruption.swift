// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The write end of the pipe below: a signal handler can know nothing but a global.
///
/// `nonisolated(unsafe)`, because the compiler cannot know that it is written once, before the first handler that reads it
/// is installed, and never again.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// SIGINT and SIGTERM as a file descriptor that becomes readable.
package struct Interruption: ~Copyable {
  let descriptor: Int32

  /// Takes both signals over, and ignores SIGPIPE. To be made once.
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
    // A parent may have blocked them, and the mask is inherited.
    var both = sigset_t()
    unsafe sigemptyset(&both)
    unsafe sigaddset(&both, SIGINT)
    unsafe sigaddset(&both, SIGTERM)
    unsafe pthread_sigmask(SIG_UNBLOCK, &both, nil)
  }
}
