// SPDX-License-Identifier: Apache-2.0
import CSystemd

/// An event source. It is watched until this object is closed or released, which also releases the handler.
@safe package final class EventSource<Event> {
  private var source: OpaquePointer?
  private var handler: ((Event) -> Void)?

  init(_ handler: @escaping (Event) -> Void) {
    unsafe source = nil
    self.handler = handler
  }

  isolated deinit { close() }

  /// Stops watching permanently. Idempotent, and allowed inside its own handler.
  package func close() {
    handler = nil
    guard let source = unsafe source else { return }
    unsafe self.source = nil
    unsafe sd_event_source_disable_unref(source)
  }

  /// Passes the slot and the context to an `sd_event_add_…` function. The context is this object, unretained: the
  /// source never outlives it.
  func register(_ add: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32) -> Int32 {
    unsafe add(&source, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Called by the C callbacks: finds the object and calls its handler, keeping both alive for the call.
  static func dispatch(_ event: Event, to context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    let source = unsafe Unmanaged<EventSource<Event>>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(source) { source.handler?(event) }
  }

  // The following calls fail only after the loop has ended (ESTALE), when nothing is watched anyway.

  func disable() {
    if let source = unsafe source { _ = unsafe sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF)) }
  }

  func enable() {
    if let source = unsafe source { _ = unsafe sd_event_source_set_enabled(source, Int32(SD_EVENT_ON)) }
  }

  func enableOnce() {
    if let source = unsafe source { _ = unsafe sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT)) }
  }

  func setTime(_ microseconds: UInt64) {
    if let source = unsafe source { _ = unsafe sd_event_source_set_time(source, microseconds) }
  }

  func setIOEvents(_ events: UInt32) {
    if let source = unsafe source { _ = unsafe sd_event_source_set_io_events(source, events) }
  }
}
