// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
package import Timekeeping

/// The event loop: all code runs in handlers that it calls.
///
/// It runs on the main thread, on the main actor. Handlers run one at a time and must not block. A source is watched
/// until its object is closed or released; a handler may close any source, including its own.
@safe package final class EventLoop {
  private let event: OpaquePointer
  /// Work to do directly after the current handler.
  private var deferredWork: [() -> Void] = []
  /// Whether a handler was called since deferred work was last done.
  private var isWorkDue = false
  private var isExiting = false

  /// - Throws: code `loop`: no memory or descriptors are left.
  package init() throws(EventLoopError) {
    var event: OpaquePointer?
    let result = unsafe sd_event_new(&event)
    guard result >= 0, let event = unsafe event else {
      throw EventLoopError(.loop, "make an event loop", result: result)
    }
    unsafe self.event = event
  }

  isolated deinit {
    unsafe sd_event_unref(event)
  }

  /// Both clocks, read now.
  package var now: Moment {
    let boot = EventLoop.read(CLOCK_BOOTTIME)
    let wall = EventLoop.read(CLOCK_REALTIME)
    let (nanoseconds, overflow) = Int64(boot.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    return Moment(
      boot: overflow ? .distantFuture : BootInstant(nanoseconds: nanoseconds &+ Int64(boot.tv_nsec)),
      wall: Timestamp(seconds: Int64(wall.tv_sec)) + .nanoseconds(Int64(wall.tv_nsec)))
  }

  /// The time awake since boot: CLOCK_MONOTONIC, which stops during suspend.
  package var awakeTime: Duration {
    let time = EventLoop.read(CLOCK_MONOTONIC)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// Runs until `exit` is called.
  ///
  /// - Returns: the code given to `exit`.
  /// - Throws: code `loop`: polling failed, which cannot be handled.
  package func run() throws(EventLoopError) -> Int32 {
    while unsafe sd_event_get_state(event) != Int32(SD_EVENT_FINISHED) { _ = try runOnce(microseconds: .max) }
    var code: Int32 = 0
    // This fails only before `exit`, without which the loop does not end.
    _ = unsafe sd_event_get_exit_code(event, &code)
    return code
  }

  /// Waits for the next event, at most `timeout`, and calls one handler.
  ///
  /// - Returns: false if there was no event in that time.
  /// - Throws: code `loop`: the loop has ended, or polling failed.
  package func runOnce(timeout: Duration) throws(EventLoopError) -> Bool {
    try runOnce(microseconds: UInt64(max(timeout.nanoseconds / 1000, 0)))
  }

  /// Deferred work runs directly after the handler: an sd-event source for it would first poll for other events, with a
  /// system call each time. Work deferred by deferred work waits for one iteration if there are events.
  private func runOnce(microseconds: UInt64) throws(EventLoopError) -> Bool {
    if isWorkDue, runDeferredWork() { return true }
    let result = unsafe sd_event_run(event, deferredWork.isEmpty ? microseconds : 0)
    guard result >= 0 else { throw EventLoopError(.loop, "run the event loop", result: result) }
    isWorkDue = result > 0
    return result > 0 || runDeferredWork()
  }

  private func runDeferredWork() -> Bool {
    isWorkDue = false
    guard !deferredWork.isEmpty, !isExiting else { return false }
    let deferredWork = deferredWork
    self.deferredWork = []
    for work in deferredWork { work() }
    return true
  }

  /// Ends `run` after the current handler. The first call determines the code; a loop that has ended cannot run again.
  ///
  /// - Parameter code: 0 to 255, the exit status of the program.
  package func exit(_ code: Int32) {
    isExiting = true
    // This fails only if the loop has ended already.
    _ = unsafe sd_event_exit(event, code)
  }

  /// Calls `work` after the current handler has returned; several are called in order. Work that is deferred by
  /// deferred work waits until another event has been handled, if there is one, so that it does not starve other
  /// events.
  package func `defer`(_ work: @escaping () -> Void) {
    deferredWork.append(work)
  }

  /// Attaches a library's own sources, such as sd-bus (`sd_bus_attach_event`).
  ///
  /// - Parameter attach: receives the loop's handle, which it must not store.
  /// - Returns: the result of `attach`.
  package func attach(_ attach: (OpaquePointer) -> Int32) -> Int32 { unsafe attach(event) }

  /// A source of this loop, created by one of libsystemd's `sd_event_add_…` functions.
  ///
  /// - Parameter what: the action that failed, for error messages.
  func makeSource<Event>(
    _ what: @autoclosure () -> String, _ handler: @escaping (Event) -> Void,
    _ add: (OpaquePointer, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32
  ) throws(EventLoopError) -> EventSource<Event> {
    let source = EventSource(handler)
    let result = unsafe source.register { slot, context in unsafe add(event, slot, context) }
    guard result >= 0 else { throw EventLoopError(.source, what(), result: result) }
    return source
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // This cannot fail: these clocks exist in every Linux since 2.6.39.
    _ = unsafe clock_gettime(clock, &time)
    return time
  }
}
