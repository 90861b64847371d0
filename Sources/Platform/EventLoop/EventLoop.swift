// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
package import Timekeeping
import SystemCalls

/// The one loop of the one thread: everything that happens to the program happens in a handler that this loop calls.
///
/// That thread is the main thread, which is where the main actor lives. Handlers run one at a time and must not wait. A source watches as long as
/// its object lives and is not closed; a handler may close any source, its own too.
@safe package final class EventLoop {
  private let event: OpaquePointer
  /// Work that waits for its turn.
  private var works: [() -> Void] = []
  /// A handler has been called since work was done.
  private var isWorkNext = false
  private var isExiting = false

  /// - Throws: code `loop`: no memory or descriptors left.
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

  /// How long the machine has been awake since boot: CLOCK_MONOTONIC, which stands still in suspend.
  package var awake: Duration {
    let time = EventLoop.read(CLOCK_MONOTONIC)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// Runs until `exit` is called.
  ///
  /// - Returns: the code given to `exit`.
  /// - Throws: code `loop`: the kernel refused to wait, which no caller can mend.
  package func run() throws(EventLoopError) -> Int32 {
    while unsafe sd_event_get_state(event) != Int32(SD_EVENT_FINISHED) { _ = try turn(microseconds: .max) }
    var code: Int32 = 0
    // It fails only before `exit`, without which the loop does not end.
    _ = unsafe sd_event_get_exit_code(event, &code)
    return code
  }

  /// Waits for the next event, but no longer than `patience`, and calls one handler.
  ///
  /// - Returns: false when nothing happened in that time.
  /// - Throws: code `loop`: the loop has ended, or the kernel refused to wait.
  package func turn(waitingAtMost patience: Duration) throws(EventLoopError) -> Bool {
    try turn(microseconds: UInt64(max(patience.nanoseconds / 1000, 0)))
  }

  /// Work that a handler has deferred follows that handler at once: a source of libsystemd's for it would ask the kernel for
  /// other events first, a system call each time. What the work itself defers waits for one event, if there is one.
  private func turn(microseconds: UInt64) throws(EventLoopError) -> Bool {
    if isWorkNext, doWork() { return true }
    let result = unsafe sd_event_run(event, works.isEmpty ? microseconds : 0)
    guard result >= 0 else { throw EventLoopError(.loop, "run the event loop", result: result) }
    isWorkNext = result > 0
    return result > 0 || doWork()
  }

  private func doWork() -> Bool {
    isWorkNext = false
    guard !works.isEmpty, !isExiting else { return false }
    let works = works
    self.works = []
    for work in works { work() }
    return true
  }

  /// Ends `run` after the current handler. The first call decides the code; a loop that ended does not run again.
  ///
  /// - Parameter code: 0 to 255, the exit status of the program.
  package func exit(_ code: Int32) {
    isExiting = true
    // It fails only after the loop has ended, and then there is nothing to end.
    _ = unsafe sd_event_exit(event, code)
  }

  /// Does `work` in a turn of its own soon after the current handler, in the order of asking. Other events get their
  /// turns in between, so that work which always asks for more starves nobody.
  package func `defer`(_ work: @escaping () -> Void) {
    works.append(work)
  }

  /// Has this loop watch what a library drives by itself: its buses (`sd_bus_attach_event`).
  ///
  /// - Parameter attach: gets the loop's own object, which it must not keep.
  /// - Returns: what it returned.
  package func attach(_ attach: (OpaquePointer) -> Int32) -> Int32 { unsafe attach(event) }

  /// A source of this loop, made by one of libsystemd's `sd_event_add_…` functions.
  ///
  /// - Parameter what: names it in the error.
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
    // It cannot fail: both clocks exist in every Linux since 2.6.39.
    _ = unsafe clock_gettime(clock, &time)
    return time
  }
}
