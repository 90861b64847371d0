// SPDX-License-Identifier: Apache-2.0
import CCurl
import HTTPMessages
import Timekeeping

extension EasyHandle {
  /// Sets the connection's options, which do not depend on the protocol above it.
  ///
  /// - Parameter meter: counts the connection, and must outlive it.
  func setConnection(_ settings: HTTPClientConfiguration, meter: ConnectionMeter) throws(CurlOptionError) {
    try meter.watch(self)
    try set(CURLOPT_NOSIGNAL, 1)
    // Otherwise, cleanup waits for a resolver thread that waits for a dead name server.
    try set(CURLOPT_QUICK_EXIT, 1)
    try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    try set(CURLOPT_PROTOCOLS_STR, settings.allowsPlainHTTP ? "https,http" : "https")
    try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    try set(CURLOPT_USERAGENT, settings.userAgent)
    // Set even if empty: otherwise the environment would choose a proxy.
    try set(CURLOPT_PROXY, settings.proxy ?? "")
    try set(CURLOPT_NOPROXY, "")
    if let caFile = settings.caFile {
      try set(CURLOPT_CAINFO, caFile)
      try set(CURLOPT_CAPATH, nil)
      // Otherwise libcurl would use the file's old content for up to a day, even after a reload.
      try set(CURLOPT_CA_CACHE_TIMEOUT, 0)
    } else if CADirectory.defaultHasHashLinks {
      try set(CURLOPT_CAINFO, nil)
    }
    if let certificate = settings.clientCertificate { try set(CURLOPT_SSLCERT, certificate) }
    if let key = settings.clientKey { try set(CURLOPT_SSLKEY, key) }
    if let keepAliveIdle = settings.keepAliveIdle {
      let idle = Int(clamping: max(keepAliveIdle.wholeSeconds, 1))
      try set(CURLOPT_TCP_KEEPALIVE, 1)
      try set(CURLOPT_TCP_KEEPIDLE, idle)
      try set(CURLOPT_TCP_KEEPINTVL, max(idle / 3, 1))
    }
    // The callback needs only one number, which is passed instead of a pointer.
    let timeout = UInt(UInt32(clamping: settings.unacknowledgedTimeout.nanoseconds / 1_000_000))
    try unsafe set(CURLOPT_SOCKOPTDATA, pointer: UnsafeRawPointer(bitPattern: timeout))
    try check(
      CURLOPT_SOCKOPTFUNCTION,
      unsafe fleet_easy_set_socket_callback(raw) { timeout, socket, _ in
        // Old kernels do not support this: the request's own deadline still applies.
        _ = fleet_socket_set_user_timeout(socket, UInt32(truncatingIfNeeded: UInt(bitPattern: timeout)))
        return CURL_SOCKOPT_OK
      })
  }
}
