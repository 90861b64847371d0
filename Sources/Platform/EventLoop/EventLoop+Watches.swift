// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc

/// The events of a path, as in inotify(7).
package nonisolated struct PathEvents: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// A name was created in the directory, or moved into it.
  package static let appeared = PathEvents(rawValue: UInt32(IN_CREATE) | UInt32(IN_MOVED_TO))
  /// A name was deleted from the directory, or moved out of it.
  package static let vanished = PathEvents(rawValue: UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM))
  /// Owner, group or mode changed.
  package static let attributes = PathEvents(rawValue: UInt32(IN_ATTRIB))
  /// A writer closed the file.
  package static let written = PathEvents(rawValue: UInt32(IN_CLOSE_WRITE))
  /// The watched path itself was deleted, moved or unmounted: there will be no more events.
  package static let gone = PathEvents(
    rawValue: UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_IGNORED) | UInt32(IN_UNMOUNT))
}

/// An event of a watched path.
package nonisolated struct PathEvent: Equatable, Sendable {
  /// The events.
  package let events: PathEvents
  /// The name inside the watched directory; nil for the watched path itself.
  package let name: String?
}

extension EventLoop {
  /// Watches a file or a directory, not recursively.
  ///
  /// - Throws: code `source`; the cause is ENOENT if there is no such path, EACCES if it cannot be read.
  package func addWatch(
    _ path: String, _ events: PathEvents, _ handler: @escaping (PathEvent) -> Void
  ) throws(EventLoopError) -> EventSource<PathEvent> {
    // The kernel reports these two without a request.
    let mask = events.rawValue & ~(UInt32(IN_IGNORED) | UInt32(IN_UNMOUNT))
    return try unsafe makeSource("watch \(path)", handler) { event, slot, context in
      unsafe sd_event_add_inotify(
        event, slot, path, mask,
        { _, event, context in
          guard let event = unsafe event else { return 0 }
          // The name follows the fixed part and is padded with NULs; its length is 0 if there is none.
          let name =
            unsafe event.pointee.len == 0
            ? nil : unsafe String(cString: UnsafeRawPointer(event + 1).assumingMemoryBound(to: CChar.self))
          let events = unsafe PathEvents(rawValue: event.pointee.mask)
          unsafe EventSource<PathEvent>.dispatch(PathEvent(events: events, name: name), to: context)
          return 0
        }, context)
    }
  }
}
