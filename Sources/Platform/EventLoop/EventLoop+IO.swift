// SPDX-License-Identifier: Apache-2.0
import CSystemd
import SystemCalls

/// What a descriptor is ready for.
package nonisolated struct IOEvents: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// There are bytes, a connection, or an end to be read.
  package static let readable = IOEvents(rawValue: EPOLLIN.rawValue)
  /// Bytes can be written without waiting.
  package static let writable = IOEvents(rawValue: EPOLLOUT.rawValue)
  /// The other end is gone. Always told, asked for or not.
  package static let hangUp = IOEvents(rawValue: EPOLLHUP.rawValue)
  /// Always told, asked for or not.
  package static let error = IOEvents(rawValue: EPOLLERR.rawValue)
}

extension EventLoop {
  /// Watches a descriptor that another platform wrapper owns; the owner closes the source before the descriptor.
  ///
  /// The events are told as long as they last (level-triggered).
  ///
  /// - Throws: code `source`; the cause is EPERM for regular files, which are always ready and cannot be watched.
  package func addIO(
    _ descriptor: Int32, _ events: IOEvents, _ handler: @escaping (IOEvents) -> Void
  ) throws(EventLoopError) -> EventSource<IOEvents> {
    try unsafe makeSource("watch descriptor \(descriptor)", handler) { event, slot, context in
      unsafe sd_event_add_io(
        event, slot, descriptor, events.rawValue,
        { _, _, revents, context in
          unsafe EventSource<IOEvents>.dispatch(IOEvents(rawValue: revents), to: context)
          return 0
        }, context)
    }
  }
}

extension EventSource where Event == IOEvents {
  /// What to watch for from now on. With nothing in the set only hang-up and error are told.
  package func watch(for events: IOEvents) {
    setIOEvents(events.rawValue)
  }

  /// Tells nothing, hang-up and error neither, until `resume`.
  package func pause() {
    disable()
  }

  /// Tells again what lasts, after `pause`.
  package func resume() {
    enable()
  }
}
