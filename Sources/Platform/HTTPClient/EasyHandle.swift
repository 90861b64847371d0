// SPDX-License-Identifier: Apache-2.0
import CCurl

/// A libcurl easy handle and its error buffer.
@safe struct EasyHandle: ~Copyable {
  let raw: UnsafeMutableRawPointer
  /// libcurl's error buffer: CURL_ERROR_SIZE bytes, terminated by NUL.
  private let errorBuffer: UnsafeMutablePointer<CChar>

  /// Nil if memory is exhausted.
  init?() {
    guard let raw = unsafe curl_easy_init() else { return nil }
    unsafe self.raw = raw
    unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    _ = unsafe fleet_easy_set_pointer(raw, CURLOPT_ERRORBUFFER, errorBuffer)
  }

  deinit {
    unsafe curl_easy_cleanup(raw)
    unsafe errorBuffer.deallocate()
  }

  /// Sets an integer or boolean option.
  ///
  /// - Throws: libcurl's error if it does not know the option or rejects the value.
  func set(_ option: CURLoption, _ value: Int) throws(CurlOptionError) {
    try check(option, unsafe fleet_easy_set_long(raw, option, value))
  }

  /// Sets a 64-bit option.
  func setLarge(_ option: CURLoption, _ value: Int64) throws(CurlOptionError) {
    try check(option, unsafe fleet_easy_set_offset(raw, option, value))
  }

  /// Sets a string option, which libcurl copies; nil restores its default.
  func set(_ option: CURLoption, _ value: String?) throws(CurlOptionError) {
    if let value {
      try check(option, unsafe fleet_easy_set_string(raw, option, value))
    } else {
      try check(option, unsafe fleet_easy_set_string(raw, option, nil))
    }
  }

  /// Sets a pointer option; the caller keeps ownership of the pointer.
  func set(_ option: CURLoption, pointer: UnsafeRawPointer?) throws(CurlOptionError) {
    try check(option, unsafe fleet_easy_set_pointer(raw, option, pointer))
  }

  func check(_ option: CURLoption, _ code: CURLcode) throws(CurlOptionError) {
    guard code == CURLE_OK else { throw CurlOptionError(option: option, code: code) }
  }

  /// An integer that libcurl reports about the last transfer; 0 if unavailable.
  func number(_ info: CURLINFO) -> Int {
    var value = 0
    return unsafe fleet_easy_get_long(raw, info, &value) == CURLE_OK ? value : 0
  }

  /// The socket of the last transfer, if its connection is still open; otherwise -1.
  var activeSocket: Int32 { unsafe fleet_easy_get_socket(raw) }

  /// A 64-bit integer that libcurl reports about the last transfer, never negative.
  func largeNumber(_ info: CURLINFO) -> UInt64 {
    var value: Int64 = 0
    return unsafe fleet_easy_get_offset(raw, info, &value) == CURLE_OK ? UInt64(max(value, 0)) : 0
  }

  /// Clears the error text of the previous transfer.
  func clearErrorText() {
    unsafe errorBuffer[0] = 0
  }

  /// Why the transfer failed, in libcurl's words.
  func message(for code: CURLcode) -> String {
    let text = unsafe String(cString: errorBuffer)
    return text.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : text
  }
}

/// libcurl rejected an option.
nonisolated struct CurlOptionError: Error, CustomStringConvertible {
  let option: CURLoption
  let code: CURLcode

  var description: String {
    let name = unsafe curl_easy_option_by_id(option).map { unsafe String(cString: $0.pointee.name) }
    return unsafe "libcurl refused option \(name ?? "\(option.rawValue)"): \(String(cString: curl_easy_strerror(code)))"
  }
}
