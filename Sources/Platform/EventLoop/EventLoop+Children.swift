// SPDX-License-Identifier: Apache-2.0
import CLinux
import CSystemd
import Glibc

/// How a child process ended.
package nonisolated enum ChildStatus: Equatable, Sendable {
  /// It exited with this code, 0 to 255.
  case exited(Int32)
  /// It was terminated by this signal.
  case killed(Int32)
}

extension EventLoop {
  /// Calls the handler once after the child has ended; the child is reaped after that. SIGCHLD must be blocked.
  ///
  /// - Throws: code `source`; the cause is EBUSY if SIGCHLD is not blocked, ECHILD or ESRCH if there is no such child.
  package func addChild(
    _ processID: Int32, _ handler: @escaping (ChildStatus) -> Void
  ) throws(EventLoopError) -> EventSource<ChildStatus> {
    try unsafe makeSource("watch process \(processID)", handler) { event, slot, context in
      unsafe sd_event_add_child(
        event, slot, processID, WEXITED,
        { _, info, context in
          guard let info = unsafe info else { return 0 }
          let status = unsafe fleet_child_status(info)
          let exited = unsafe info.pointee.si_code == CLD_EXITED
          unsafe EventSource<ChildStatus>.dispatch(exited ? .exited(status) : .killed(status), to: context)
          return 0
        }, context)
    }
  }
}
