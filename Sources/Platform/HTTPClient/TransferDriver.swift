// SPDX-License-Identifier: Apache-2.0
import CCurl
import EventLoop
import Glibc
import Timekeeping
import SystemCalls

/// Runs a libcurl multi handle on the event loop: libcurl asks for sockets and timeouts to be watched, and the loop
/// reports their events. It owns the open connections.
@safe final class TransferDriver {
  private let multi: UnsafeMutableRawPointer
  private let loop: EventLoop
  private var timer: LoopTimer?
  /// There are one or two, rarely more.
  private var sources: [(socket: Int32, source: EventSource<IOEvents>)] = []
  private var onEnd: ((UnsafeMutableRawPointer, CURLcode) -> Void)?
  /// Whether libcurl wants to be called again at once.
  private var isDue = false
  /// Transfers whose end has not been reported yet.
  private var pendingCount: Int32 = 0
  /// Processor time that libcurl has used since a transfer began or ended.
  private var usedProcessorTime = Duration.zero
  private var onWorkLimit: (() -> Void)?
  /// Called when connections close, and so retained while there may be any.
  private let meter: ConnectionMeter
  /// Called while connections are read.
  let floodGuard: TLSFloodGuard

  /// A request takes some milliseconds of processor time, mostly for TLS. A server that keeps libcurl busy without a
  /// response must not use more than this.
  private static let maximumProcessorTime = Duration.seconds(1)
  /// The part of `maximumProcessorTime` that libcurl may use in one iteration of the loop.
  private static let maximumStepTime = Duration.milliseconds(10)

  /// - Parameters:
  ///   - meter: the meter of every handle.
  ///   - onEnd: called with the handle of a transfer that ended, which the caller must remove.
  ///   - onWorkLimit: called if the transfers have used too much processor time.
  init(
    loop: EventLoop, meter: ConnectionMeter, onEnd: @escaping (UnsafeMutableRawPointer, CURLcode) -> Void,
    onWorkLimit: @escaping () -> Void
  ) throws(HTTPClientError) {
    guard let multi = unsafe curl_multi_init() else {
      throw HTTPClientError(.unavailable, "libcurl has no memory for a multi handle")
    }
    unsafe self.multi = multi
    self.loop = loop
    self.meter = meter
    floodGuard = TLSFloodGuard(loop)
    unsafe self.onEnd = onEnd
    self.onWorkLimit = onWorkLimit
    do {
      timer = try loop.makeTimer { [unowned self] in handleEvents(CURL_SOCKET_TIMEOUT, 0) }
    } catch {
      throw HTTPClientError(.unavailable, error.message, cause: error.cause)
    }
    // From 8.20 on, resolver threads belong to the multi handle: without this option, its cleanup would wait until an
    // unresponsive name server has timed out. Earlier versions refuse it; there CURLOPT_QUICK_EXIT has that effect.
    _ = unsafe fleet_multi_set_long(multi, fleet_multi_quick_exit, 1)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let results = unsafe [
      fleet_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context),
      fleet_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context),
      fleet_multi_set_socket_callback(multi) { _, socket, what, context, _ in
        unsafe TransferDriver.at(context)?.watch(socket, what)
        return 0
      },
      fleet_multi_set_timer_callback(multi) { _, milliseconds, context in
        unsafe TransferDriver.at(context)?.setTimer(milliseconds)
        return 0
      },
      fleet_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1),
      // Idle connections: one to the server, and possibly one to its proxy or an older address.
      fleet_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 2),
    ]
    guard results.allSatisfy({ $0 == CURLM_OK }) else {
      throw HTTPClientError(.unsupported, "libcurl cannot be driven by an event loop (multi_socket)")
    }
  }

  isolated deinit {
    // Callbacks must not be called with an object that is being released.
    _ = unsafe fleet_multi_set_socket_callback(multi, nil)
    _ = unsafe fleet_multi_set_timer_callback(multi, nil)
    timer?.close()
    for (_, source) in sources { source.close() }
    _ = unsafe curl_multi_cleanup(multi)
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> TransferDriver? {
    unsafe context.map { unsafe Unmanaged<TransferDriver>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Starts a transfer. Its end is reported in a later iteration of the loop.
  ///
  /// - Returns: CURLM_OK, or libcurl's error.
  func add(_ handle: UnsafeMutableRawPointer) -> CURLMcode {
    let result = unsafe curl_multi_add_handle(multi, handle)
    guard result == CURLM_OK else { return result }
    pendingCount += 1
    usedProcessorTime = .zero
    // The first step is done here, not in a separate iteration of the loop: it writes the request if a connection is
    // open.
    if step(CURL_SOCKET_TIMEOUT, 0) < pendingCount {
      loop.defer { [weak self] in self?.reportEnded() }
    }
    return result
  }

  /// Removes a transfer from libcurl, whether it has ended or not.
  func remove(_ handle: UnsafeMutableRawPointer) {
    // This fails if the handle is not there, which does not matter.
    _ = unsafe curl_multi_remove_handle(multi, handle)
    pendingCount -= 1
    usedProcessorTime = .zero
  }

  private func handleEvents(_ socket: Int32, _ events: Int32) {
    withExtendedLifetime(self) {
      if step(socket, events) < pendingCount { reportEnded() }
      if pendingCount > 0, usedProcessorTime > TransferDriver.maximumProcessorTime { onWorkLimit?() }
    }
  }

  /// Runs libcurl until it has nothing more to do now.
  ///
  /// - Returns: the number of running transfers.
  private func step(_ socket: Int32, _ events: Int32) -> Int32 {
    var running: Int32 = 0
    isDue = false
    let before = TransferDriver.processorTime
    defer { usedProcessorTime += TransferDriver.processorTime - before }
    _ = unsafe curl_multi_socket_action(multi, socket, events, &running)
    // Limited, so that other events are handled.
    for _ in 0..<16 where isDue && TransferDriver.processorTime - before < TransferDriver.maximumStepTime {
      isDue = false
      _ = unsafe curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
    }
    if isDue { timer?.arm(at: .boot) }
    return running
  }

  /// The processor time of this thread.
  private static var processorTime: Duration {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  private func reportEnded() {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle else {
        continue
      }
      // The message is freed with the handle, so it is read before it is reported.
      let code = unsafe message.pointee.data.result
      unsafe onEnd?(handle, code)
    }
  }

  private func setTimer(_ milliseconds: Int) {
    switch milliseconds {
    case 0: isDue = true
    case ..<0: timer?.disarm()
    default: timer?.arm(at: loop.now.boot + .milliseconds(milliseconds))
    }
  }

  private func watch(_ socket: Int32, _ what: Int32) {
    let index = sources.firstIndex { $0.socket == socket }
    let events: IOEvents
    switch what {
    case CURL_POLL_IN: events = .readable
    case CURL_POLL_OUT: events = .writable
    case CURL_POLL_INOUT: events = IOEvents.readable.union(.writable)
    default:
      if let index { sources.remove(at: index).source.close() }
      return
    }
    if let index {
      sources[index].source.watch(for: events)
    } else {
      do {
        let source = try loop.addIO(socket, events) { [unowned self] in handleEvents(socket, TransferDriver.flags($0)) }
        sources.append((socket, source))
      } catch {
        // Out of memory: the socket's readiness will not be reported, and the request ends at its deadline.
        isDue = false
      }
    }
  }

  private static let failures = IOEvents.error.rawValue | IOEvents.hangUp.rawValue

  private static func flags(_ events: IOEvents) -> Int32 {
    var flags: Int32 = 0
    if events.contains(.readable) { flags |= CURL_CSELECT_IN }
    if events.contains(.writable) { flags |= CURL_CSELECT_OUT }
    if events.rawValue & failures != 0 { flags |= CURL_CSELECT_ERR }
    return flags
  }
}
