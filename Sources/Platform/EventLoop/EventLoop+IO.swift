// SPDX-License-Identifier: Apache-2.0
import CSystemd

/// The readiness of a descriptor.
package nonisolated struct IOEvents: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// There is data, a connection or an end-of-file to read.
  package static let readable = IOEvents(rawValue: EPOLLIN.rawValue)
  /// Data can be written without blocking.
  package static let writable = IOEvents(rawValue: EPOLLOUT.rawValue)
  /// The other end was closed. Always reported.
  package static let hangUp = IOEvents(rawValue: EPOLLHUP.rawValue)
  /// An error. Always reported.
  package static let error = IOEvents(rawValue: EPOLLERR.rawValue)
}

extension EventLoop {
  /// Watches a descriptor of another wrapper. That wrapper must close the source before the descriptor.
  ///
  /// Events are level-triggered.
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
  /// Sets the watched events. If empty, only hang-up and error are reported.
  package func watch(for events: IOEvents) {
    setIOEvents(events.rawValue)
  }

  /// Reports nothing, not even hang-up and error, until `resume`.
  package func pause() {
    disable()
  }

  /// Ends `pause`.
  package func resume() {
    enable()
  }
}
