// SPDX-License-Identifier: Apache-2.0
import CCurl
import HTTP2
import HTTPMessages
import URLReader
import Timekeeping
import SystemCalls

/// A libcurl easy handle with its request and response. It handles one request at a time and is reused, so that options
/// and TLS sessions outlive a request.
@safe final class Transfer {
  private let easy: EasyHandle
  private var headerList = HeaderList()
  private var collector = ResponseCollector(maximumSize: 0)
  private var endpoint: WebAddress?
  private let settings: HTTPClientConfiguration

  /// Size of the request's body in bytes.
  private var bodySize = 0
  /// Whether the request has been sent, and so there is a connection.
  private(set) var isSent = false
  /// Whether TCP is established for this request, and TLS has begun.
  private var hasBegunTLS = false
  /// The driver that runs the transfer; nil while it is not used.
  var driver: TransferDriver?
  /// When the request times out.
  var timesOutAt = BootInstant.boot

  // The current values of libcurl's options.
  private var url: String?
  private var deadline: Duration?
  private var maximumSize = 0

  /// The completion handler.
  var completion: Completion?
  /// The time at which a new connection verifies certificates; nil: by the system's clock.
  var certificateTime: Timestamp?

  /// - Throws: if there is no memory, or libcurl lacks an option.
  init(_ settings: HTTPClientConfiguration, _ meter: ConnectionMeter) throws(HTTPClientError) {
    guard let easy = EasyHandle() else { throw HTTPClientError(.unavailable, "libcurl has no memory for a handle") }
    self.easy = easy
    self.settings = settings
    do {
      try apply(settings, meter)
    } catch {
      throw HTTPClientError(.unsupported, "\(error); libcurl 7.87 or later with OpenSSL is needed")
    }
  }

  /// Identifies the transfer to libcurl.
  var handle: UnsafeMutableRawPointer { unsafe easy.raw }

  /// Sets the options that are the same for all requests.
  private func apply(_ settings: HTTPClientConfiguration, _ meter: ConnectionMeter) throws(CurlOptionError) {
    try easy.setConnection(settings, meter: meter)
    try easy.set(
      CURLOPT_HTTP_VERSION,
      Int(settings.transport == .auto ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
    try easy.set(CURLOPT_FOLLOWLOCATION, 0)
    try easy.set(CURLOPT_PIPEWAIT, 1)
    try easy.set(CURLOPT_MAXAGE_CONN, Int(clamping: max(settings.idleTimeout.wholeSeconds, 1)))
    try setCallbacks()
  }

  private func setCallbacks() throws(CurlOptionError) {
    // Unretained: the client retains the transfer longer than libcurl uses the handle.
    let context = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    try unsafe easy.set(CURLOPT_WRITEDATA, pointer: context)
    try unsafe easy.set(CURLOPT_HEADERDATA, pointer: context)
    try unsafe easy.set(CURLOPT_PREREQDATA, pointer: context)
    try unsafe easy.set(CURLOPT_SSL_CTX_DATA, pointer: context)
    try easy.check(
      CURLOPT_WRITEFUNCTION,
      unsafe fleet_easy_set_receiver(easy.raw, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        // A smaller count makes libcurl abort with WRITE_ERROR.
        return unsafe Transfer.at(context)?.collector.addBody(piece) == true ? size * count : 0
      })
    try easy.check(
      CURLOPT_HEADERFUNCTION,
      unsafe fleet_easy_set_receiver(easy.raw, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe Transfer.at(context)?.collector.addHeaderLine(line) == true ? size * count : 0
      })
    try easy.check(
      CURLOPT_PREREQFUNCTION,
      unsafe fleet_easy_set_request_callback(easy.raw) { context, _, _, _, _ in
        unsafe Transfer.at(context)?.beginSending() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
    try easy.check(
      CURLOPT_SSL_CTX_FUNCTION,
      unsafe fleet_easy_set_tls_callback(easy.raw) { _, tls, context in
        guard let transfer = unsafe Transfer.at(context) else { return CURLE_OK }
        if let time = transfer.certificateTime { unsafe fleet_tls_set_time(tls, time.milliseconds / 1000) }
        unsafe transfer.driver?.floodGuard.watch(tls)
        transfer.hasBegunTLS = true
        return CURLE_OK
      })
  }

  /// libcurl itself repeats a request up to five times if its connection is closed before any data was received, and
  /// after RST_STREAM with REFUSED_STREAM. Retries must not be decided by libcurl.
  ///
  /// - Returns: false if the request was already sent.
  private func beginSending() -> Bool {
    defer { isSent = true }
    return !isSent
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    unsafe context.map { unsafe Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Sets the options for this request; afterwards the handle can be added to libcurl.
  ///
  /// - Throws: kind `local` if the request is invalid.
  func prepare(_ request: HTTPRequest) throws(TransportFailure) {
    if request.url != url {
      url = nil
      endpoint = try? WebAddress(reading: request.url)
    }
    guard let endpoint, endpoint.scheme == "https" || (endpoint.scheme == "http" && settings.allowsPlainHTTP) else {
      let wanted = settings.allowsPlainHTTP ? "http:// or https://" : "https://"
      throw TransportFailure(.local, "the URL must begin with \(wanted) and a host")
    }
    collector = ResponseCollector(maximumSize: request.maximumResponseSize)
    bodySize = request.method == .get ? 0 : request.body.count
    isSent = false
    hasBegunTLS = false
    easy.clearErrorText()
    do {
      try setRequestOptions(request)
      try headerList.fill(request.headers)
      try unsafe easy.set(CURLOPT_HTTPHEADER, pointer: UnsafeRawPointer(headerList.first))
    } catch let error as CurlOptionError {
      throw TransportFailure(.local, FailureTable.message(endpoint, "\(error)"))
    } catch let failure as TransportFailure {
      throw failure
    } catch {
      throw TransportFailure(.local, FailureTable.message(endpoint, "\(error)"))
    }
  }

  private func setRequestOptions(_ request: HTTPRequest) throws(CurlOptionError) {
    // Requests are usually alike, and libcurl keeps its options: only options that differ are set.
    if url == nil {
      try easy.set(CURLOPT_URL, request.url)
      url = request.url
    }
    if request.method == .get {
      try easy.set(CURLOPT_HTTPGET, 1)
      try easy.set(CURLOPT_CUSTOMREQUEST, nil)
    } else {
      try easy.set(CURLOPT_POST, 1)
      try easy.set(CURLOPT_CUSTOMREQUEST, request.method == .post ? nil : request.method.rawValue)
      try easy.setLarge(CURLOPT_POSTFIELDSIZE_LARGE, Int64(request.body.count))
      if request.body.isEmpty {
        // An empty array may have no address, and a null pointer would make libcurl read the body from a callback.
        try easy.set(CURLOPT_COPYPOSTFIELDS, "")
      } else {
        try unsafe request.body.withUnsafeBufferPointer { bytes throws(CurlOptionError) in
          try unsafe easy.set(CURLOPT_COPYPOSTFIELDS, pointer: UnsafeRawPointer(bytes.baseAddress))
        }
      }
    }
    if request.deadline != deadline || request.maximumResponseSize != maximumSize {
      deadline = nil
      let timeout = max(request.deadline.nanoseconds / 1_000_000, 1)
      let connectTimeout = max(settings.connectTimeout.nanoseconds / 1_000_000, 1)
      try easy.setLarge(CURLOPT_MAXFILESIZE_LARGE, Int64(request.maximumResponseSize))
      try easy.set(CURLOPT_TIMEOUT_MS, Int(timeout))
      try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(timeout, connectTimeout)))
      deadline = request.deadline
      maximumSize = request.maximumResponseSize
    }
  }

  /// Sets a different deadline for a prepared request that no connection has carried yet.
  func setDeadline(to time: Duration) throws(CurlOptionError) {
    deadline = nil
    let timeout = Int(max(time.nanoseconds / 1_000_000, 1))
    try easy.set(CURLOPT_TIMEOUT_MS, timeout)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, timeout)
    easy.clearErrorText()
  }

  /// The outcome, after libcurl has finished.
  func outcome(_ code: CURLcode) -> HTTPOutcome {
    if code != CURLE_OK, driver?.floodGuard.hasClosedConnection == true {
      return .failure(TransportFailure(.broken, FailureTable.message(endpoint, TLSFloodGuard.message)))
    }
    if code == CURLE_OK {
      guard collector.hasAllHeaders else {
        return .failure(
          TransportFailure(.broken, FailureTable.message(endpoint, "the connection ended amid the response's headers")))
      }
      let status = easy.number(CURLINFO_RESPONSE_CODE)
      // libcurl does not send the rest of a request that has been answered, and closes the connection.
      if (200..<300).contains(status), easy.largeNumber(CURLINFO_SIZE_UPLOAD_T) < UInt64(bodySize) {
        let failure = HTTP2Failure.answeredEarly
        return .failure(TransportFailure(failure.kind, FailureTable.message(endpoint, failure.message)))
      }
      return .response(collector.response(status: status))
    }
    // CURLE_OUT_OF_MEMORY is libcurl's error for a status or header line that exceeds its buffer.
    if collector.isTooLarge || code == CURLE_FILESIZE_EXCEEDED || code == CURLE_OUT_OF_MEMORY {
      return .failure(
        TransportFailure(
          .tooLarge, FailureTable.message(endpoint, "the response is longer than the request allows"),
          isConnectionOpen: leavesConnectionOpen(code)))
    }
    // libcurl was about to repeat the request: the reused connection was closed without any data, or the server refused
    // the stream. libcurl does not say which, so the server may have received the request.
    if code == CURLE_ABORTED_BY_CALLBACK {
      return .failure(
        TransportFailure(
          .unanswered,
          FailureTable.message(
            endpoint, "the server refused the request or closed the reused connection without a response")))
    }
    let message = easy.message(for: code)
    // A name lookup that times out has the code of any other timeout; only the text differs.
    let isLookup = code == CURLE_OPERATION_TIMEDOUT && message.hasPrefix("Resolving timed out")
    let kind = FailureTable.kind(
      of: code, verifyResult: easy.number(CURLINFO_SSL_VERIFYRESULT), systemError: easy.number(CURLINFO_OS_ERRNO))
    let isStalled = kind == .timedOut && hasBegunTLS && !isSent
    return .failure(
      TransportFailure(
        isLookup ? .unresolved : FailureTable.isClientCertificateAlert(message) ? .handshakeFailed : kind,
        FailureTable.message(endpoint, isStalled ? FailureTable.stalledHandshake : message),
        isConnectionOpen: leavesConnectionOpen(code)))
  }

  /// Whether libcurl keeps the connection after this failure: with its HTTP/2, a single stream can fail.
  private func leavesConnectionOpen(_ code: CURLcode) -> Bool {
    [CURLE_HTTP2_STREAM, CURLE_WRITE_ERROR, CURLE_FILESIZE_EXCEEDED].contains(code)
      && easy.activeSocket >= 0
  }

  /// The protocol of the response.
  var httpVersion: String { easy.number(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) ? "HTTP/2" : "HTTP/1.1" }

  /// The failure of a request that used too much processor time.
  var workLimitFailure: TransportFailure {
    TransportFailure(.malformed, FailureTable.message(endpoint, "the server's response takes too long to process"))
  }

  /// Adds this transfer's traffic to the counters.
  func addTraffic(to counters: inout TrafficCounters) {
    counters.requests &+= 1
    counters.connections &+= UInt64(clamping: easy.number(CURLINFO_NUM_CONNECTS))
    counters.bytesSent &+= UInt64(clamping: easy.number(CURLINFO_REQUEST_SIZE))
    counters.bytesSent &+= easy.largeNumber(CURLINFO_SIZE_UPLOAD_T)
    counters.bytesReceived &+= UInt64(clamping: easy.number(CURLINFO_HEADER_SIZE))
    counters.bytesReceived &+= easy.largeNumber(CURLINFO_SIZE_DOWNLOAD_T)
  }

  /// Releases everything that belongs to one request, secrets first.
  func clear() {
    _ = unsafe fleet_easy_set_pointer(easy.raw, CURLOPT_HTTPHEADER, nil)
    headerList.clear()
    collector = ResponseCollector(maximumSize: 0)
    completion = nil
    driver = nil
  }
}
