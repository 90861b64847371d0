// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
package import SystemCalls
import Timekeeping

/// A connection to systemd's D-Bus API, by sd-bus.
///
/// All calls are synchronous, with a time limit: for command line tools.
@safe package struct MessageBus: ~Copyable {
  /// The address of systemd.
  package enum Address: Equatable, Sendable {
    /// The system bus, as in `unix:path=/run/dbus/system_bus_socket`.
    case bus(String)
    /// systemd's private socket, which is for root and needs no bus daemon.
    case manager(String)
  }

  /// The address of the system bus.
  static var systemBus: String {
    let address = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) }
    return address ?? "unix:path=/run/dbus/system_bus_socket"
  }

  /// The addresses to try, in systemctl's order.
  package static var systemAddresses: [Address] {
    let addresses = [Address.bus(systemBus)]
    return geteuid() == 0 ? [.manager("unix:path=/run/systemd/private")] + addresses : addresses
  }

  static let manager = "org.freedesktop.systemd1"

  private let bus: OpaquePointer

  /// Connects to the first available address.
  ///
  /// - Parameter timeLimit: the limit for connecting, and for each call.
  /// - Throws: `absent` if systemd is not running, `permissionDenied`, `silent` after the time limit, `failed`.
  package init(
    _ addresses: [Address] = MessageBus.systemAddresses, timeLimit: Duration = .seconds(5)
  ) throws(MessageBusError) {
    var lastError = MessageBusError(.absent, "no systemd runs here")
    for address in addresses {
      do throws(MessageBusError) {
        unsafe bus = try MessageBus.connect(address, timeLimit)
        return
      } catch {
        lastError = error
      }
    }
    throw lastError
  }

  deinit { unsafe sd_bus_flush_close_unref(bus) }

  private static func connect(_ address: Address, _ timeLimit: Duration) throws(MessageBusError) -> OpaquePointer {
    var newBus: OpaquePointer?
    try check(unsafe sd_bus_new(&newBus))
    guard let bus = unsafe newBus else { throw MessageBusError(.failed, "systemd cannot be asked: no memory") }
    var isConnected = false
    defer { if !isConnected { unsafe sd_bus_close_unref(bus) } }
    let limit = UInt64(max(timeLimit.nanoseconds / 1000, 1))
    switch address {
    case .bus(let path):
      try check(unsafe sd_bus_set_address(bus, path))
      try check(unsafe sd_bus_set_bus_client(bus, 1))
    case .manager(let path): try check(unsafe sd_bus_set_address(bus, path))
    }
    try check(unsafe sd_bus_set_method_call_timeout(bus, limit))
    try check(unsafe sd_bus_start(bus))
    // libsystemd's own time limit for this is 90 s.
    let deadline = monotonicMicroseconds &+ limit
    while try check(unsafe sd_bus_is_ready(bus)) == 0 {
      let now = monotonicMicroseconds
      guard now < deadline else { throw MessageBusError(.silent, "systemd does not answer", cause: Errno(ETIMEDOUT)) }
      if try check(unsafe sd_bus_process(bus, nil)) == 0 { try check(unsafe sd_bus_wait(bus, deadline - now)) }
    }
    isConnected = true
    return unsafe bus
  }

  private static var monotonicMicroseconds: UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(clamping: time.tv_sec) &* 1_000_000 &+ UInt64(clamping: time.tv_nsec) / 1000
  }

  // MARK: - Properties

  /// The object of a unit, found by the unit's name.
  struct Unit {
    let path: String

    init(_ name: String) throws(MessageBusError) {
      var path: UnsafeMutablePointer<CChar>?
      try unsafe MessageBus.check(sd_bus_path_encode("/org/freedesktop/systemd1/unit", name, &path))
      defer { unsafe free(path) }
      self.path = unsafe path.map { unsafe String(cString: $0) } ?? ""
    }
  }

  /// - Parameter interface: the last part of the interface's name, as in `Service`.
  func string(_ name: String, of unit: Unit, _ interface: String) throws(MessageBusError) -> String {
    var error = unsafe sd_bus_error()
    defer { unsafe sd_bus_error_free(&error) }
    var value: UnsafeMutablePointer<CChar>?
    let result = unsafe sd_bus_get_property_string(
      bus, MessageBus.manager, unit.path, "\(MessageBus.manager).\(interface)", name, &error, &value)
    defer { unsafe free(value) }
    try MessageBus.check(result, unsafe MessageBus.message(of: error))
    return unsafe value.map { unsafe String(cString: $0) } ?? ""
  }

  /// A property of the D-Bus type `i` or `b`.
  func integer(_ name: String, of unit: Unit, _ interface: String, type: Character = "i") throws(MessageBusError) -> Int
  {
    var value: Int32 = 0
    try trivial(name, of: unit, interface, type, &value)
    return Int(value)
  }

  /// A property of the D-Bus type `u`.
  func unsignedInteger(_ name: String, of unit: Unit, _ interface: String) throws(MessageBusError) -> Int {
    var value: UInt32 = 0
    try trivial(name, of: unit, interface, "u", &value)
    return Int(value)
  }

  /// A time of CLOCK_MONOTONIC in microseconds; 0: never.
  func time(_ name: String, of unit: Unit, _ interface: String) throws(MessageBusError) -> UInt64 {
    var value: UInt64 = 0
    try trivial(name, of: unit, interface, "t", &value)
    return value
  }

  /// A property of the D-Bus type `a(ss)`, such as LoadCredential.
  func pairs(_ name: String, of unit: Unit, _ interface: String) throws(MessageBusError) -> [(String, String)] {
    var error = unsafe sd_bus_error()
    defer { unsafe sd_bus_error_free(&error) }
    var reply: OpaquePointer?
    let result = unsafe sd_bus_get_property(
      bus, MessageBus.manager, unit.path, "\(MessageBus.manager).\(interface)", name, &error, &reply, "a(ss)")
    let message = unsafe BusMessage(owning: reply)
    try MessageBus.check(result, unsafe MessageBus.message(of: error))
    var pairs: [(String, String)] = []
    try message?.eachPair { pairs.append(($0, $1)) }
    return pairs
  }

  /// All properties of an interface, as a dictionary of the type `a{sv}`.
  func allProperties(of unit: Unit, _ interface: String) throws(MessageBusError) -> BusMessage {
    let request = try methodCall("GetAll", at: unit.path, "org.freedesktop.DBus.Properties")
    try request.append("\(MessageBus.manager).\(interface)")
    return try send(request)
  }

  // MARK: - Calls

  /// Creates a method call to systemd's manager, or to the interface of another object.
  func methodCall(
    _ method: String, at path: String = "/org/freedesktop/systemd1",
    _ interface: String = "\(MessageBus.manager).Manager"
  ) throws(MessageBusError) -> BusMessage {
    var message: OpaquePointer?
    let result = unsafe sd_bus_message_new_method_call(
      bus, &message, MessageBus.manager, path, interface, method)
    try MessageBus.check(result)
    guard let request = unsafe BusMessage(owning: message) else {
      throw MessageBusError(.failed, "systemd cannot be asked: no memory")
    }
    return request
  }

  /// Sends a method call and waits for the reply.
  func send(_ request: borrowing BusMessage) throws(MessageBusError) -> BusMessage {
    var error = unsafe sd_bus_error()
    defer { unsafe sd_bus_error_free(&error) }
    var reply: OpaquePointer?
    let result = unsafe request.withPointer { unsafe sd_bus_call(bus, $0, 0, &error, &reply) }
    let message = unsafe BusMessage(owning: reply)
    try MessageBus.check(result, unsafe MessageBus.message(of: error))
    guard let message else { throw MessageBusError(.failed, "systemd cannot be asked: no response") }
    return message
  }

  /// - Parameter value: a value of the type's size.
  private func trivial<Value: FixedWidthInteger>(
    _ name: String, of unit: Unit, _ interface: String, _ type: Character, _ value: inout Value
  ) throws(MessageBusError) {
    var error = unsafe sd_bus_error()
    defer { unsafe sd_bus_error_free(&error) }
    let result = unsafe sd_bus_get_property_trivial(
      bus, MessageBus.manager, unit.path, "\(MessageBus.manager).\(interface)", name, &error,
      BusMessage.type(type), &value)
    try MessageBus.check(result, unsafe MessageBus.message(of: error))
  }

  // MARK: - Errors

  private static func message(of error: sd_bus_error) -> String? {
    unsafe error.message.map { unsafe String(cString: $0).onOneLine }
  }

  /// Returns the result of a libsystemd function, or throws if it is an error.
  ///
  /// - Parameter message: systemd's message.
  @discardableResult
  static func check(_ result: Int32, _ message: String? = nil) throws(MessageBusError) -> Int32 {
    guard result < 0 else { return result }
    let cause = Errno(-result)
    let reason = message ?? "\(cause)"
    switch cause.code {
    case ENOENT, ECONNREFUSED: throw MessageBusError(.absent, "no systemd runs here", cause: cause)
    case EACCES, EPERM: throw MessageBusError(.permissionDenied, "systemd refuses to answer: \(reason)", cause: cause)
    case ETIMEDOUT, ECONNRESET, ENOTCONN:
      throw MessageBusError(.silent, "systemd does not answer: \(reason)", cause: cause)
    default: throw MessageBusError(.failed, "systemd cannot be asked: \(reason)", cause: cause)
    }
  }
}

/// systemd cannot be reached, or returned an error.
package typealias MessageBusError = PlatformError<MessageBusErrorCode>

/// Why there is no valid answer.
package enum MessageBusErrorCode: Sendable {
  /// systemd or the bus is not running.
  case absent
  /// Permission denied.
  case permissionDenied
  /// Timeout, or the connection was closed.
  case silent
  /// Everything else.
  case failed
}

extension String {
  /// Text from another program, reduced to one line for use in a message.
  fileprivate var onOneLine: String {
    String(String.UnicodeScalarView(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }).prefix(200))
  }
}
