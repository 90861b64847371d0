// SPDX-License-Identifier: Apache-2.0
import CSystemd

/// A message on the bus: a method call under construction, or a reply that is read once from beginning to end.
@safe struct BusMessage: ~Copyable {
  private let message: OpaquePointer

  /// - Parameter message: its ownership is transferred.
  init?(owning message: OpaquePointer?) {
    guard let message = unsafe message else { return nil }
    unsafe self.message = message
  }

  deinit { unsafe sd_bus_message_unref(message) }

  /// Passes the message to libsystemd functions; the pointer is valid during the call.
  func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result { unsafe body(message) }

  // MARK: - Writing

  /// Appends a value of type `s`.
  func append(_ text: String) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_append_basic(message, BusMessage.type("s"), text))
  }

  /// Appends a value of type `b`.
  func append(b value: Bool) throws(MessageBusError) { try append("b", value ? 1 : 0 as Int32) }

  /// Appends a value of type `u`.
  func append(u value: UInt32) throws(MessageBusError) { try append("u", value) }

  /// Appends a value of type `i`.
  func append(i value: Int32) throws(MessageBusError) { try append("i", value) }

  /// Appends a value of type `t`.
  func append(t value: UInt64) throws(MessageBusError) { try append("t", value) }

  /// Appends a value of type `h`: a file descriptor, which is duplicated.
  func append(h value: Int32) throws(MessageBusError) { try append("h", value) }

  private func append(_ type: Character, _ value: some FixedWidthInteger) throws(MessageBusError) {
    let result = unsafe withUnsafePointer(to: value) {
      unsafe sd_bus_message_append_basic(message, BusMessage.type(type), $0)
    }
    try MessageBus.check(result)
  }

  /// - Parameters:
  ///   - type: `a`, `r` or `v`.
  ///   - contents: the signature of the contents.
  func appendContainer(
    _ type: Character, _ contents: String, _ fill: (borrowing BusMessage) throws(MessageBusError) -> Void
  ) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_open_container(message, BusMessage.type(type), contents))
    try fill(self)
    try MessageBus.check(unsafe sd_bus_message_close_container(message))
  }

  /// Appends a property to an array of type `a(sv)`.
  func appendProperty(
    _ name: String, _ type: String, _ fill: (borrowing BusMessage) throws(MessageBusError) -> Void
  ) throws(MessageBusError) {
    try appendContainer("r", "sv") { message throws(MessageBusError) in
      try message.append(name)
      try message.appendContainer("v", type, fill)
    }
  }

  /// Appends a property with the next value of another message. An empty list is omitted: systemd interprets it as
  /// resetting previous lists, and LoadCredential and LoadCredentialEncrypted are one list.
  func appendProperty(_ name: String, _ type: String, from source: borrowing BusMessage) throws(MessageBusError) {
    guard type.hasPrefix("a") else {
      return try appendProperty(name, type) { message throws(MessageBusError) in try message.copyRest(of: source) }
    }
    let contents = String(type.dropFirst())
    try MessageBus.check(unsafe sd_bus_message_enter_container(source.message, BusMessage.type("a"), contents))
    if try MessageBus.check(unsafe sd_bus_message_at_end(source.message, 0)) == 0 {
      try appendProperty(name, type) { message throws(MessageBusError) in
        try message.appendContainer("a", contents) { message throws(MessageBusError) in
          try message.copyRest(of: source)
        }
      }
    }
    try MessageBus.check(unsafe sd_bus_message_exit_container(source.message))
  }

  /// Appends a string property with the string in the next value of another message, which is of type `(bs)`: systemd
  /// reports SELinuxContext like this, and accepts it as `s`. An empty string is omitted.
  func appendTextProperty(_ name: String, fromPairIn source: borrowing BusMessage) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_enter_container(source.message, BusMessage.type("r"), "bs"))
    try MessageBus.check(unsafe sd_bus_message_skip(source.message, "b"))
    let text = try source.text()
    try MessageBus.check(unsafe sd_bus_message_exit_container(source.message))
    guard !text.isEmpty else { return }
    try appendProperty(name, "s") { message throws(MessageBusError) in try message.append(text) }
  }

  /// Copies the rest of the current container of another message.
  private func copyRest(of source: borrowing BusMessage) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_copy(message, source.message, 1))
  }

  // MARK: - Reading

  /// Reads a dictionary of the type `a{sv}`.
  ///
  /// - Parameter body: called with the key, the signature of the value, and this message, whose next value is that
  ///   value. The parts that `body` does not read are skipped.
  func eachProperty(
    _ body: (_ key: String, _ type: String, _ value: borrowing BusMessage) throws(MessageBusError) -> Void
  ) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("a"), "{sv}"))
    while try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("e"), "sv")) > 0 {
      let key = try text()
      var signature: UnsafePointer<CChar>?
      try MessageBus.check(unsafe sd_bus_message_peek_type(message, nil, &signature))
      let type = unsafe signature.map { unsafe String(cString: $0) } ?? ""
      try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("v"), type))
      try body(key, type, self)
      if try MessageBus.check(unsafe sd_bus_message_at_end(message, 0)) == 0 {
        try MessageBus.check(unsafe sd_bus_message_skip(message, type))
      }
      try MessageBus.check(unsafe sd_bus_message_exit_container(message))
      try MessageBus.check(unsafe sd_bus_message_exit_container(message))
    }
    try MessageBus.check(unsafe sd_bus_message_exit_container(message))
  }

  /// Reads an array of the type `a(ss)`.
  func eachPair(_ body: (String, String) -> Void) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("a"), "(ss)"))
    while try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("r"), "ss")) > 0 {
      let first = try text()
      body(first, try text())
      try MessageBus.check(unsafe sd_bus_message_exit_container(message))
    }
  }

  /// Reads an array of structs.
  ///
  /// - Parameters:
  ///   - contents: the signature of a struct, which begins with `s`.
  ///   - body: called with the first value of each struct.
  func eachFirst(_ contents: String, _ body: (String) -> Void) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("a"), "(\(contents))"))
    while try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("r"), contents)) > 0 {
      body(try text())
      try MessageBus.check(unsafe sd_bus_message_skip(message, String(contents.dropFirst())))
      try MessageBus.check(unsafe sd_bus_message_exit_container(message))
    }
    try MessageBus.check(unsafe sd_bus_message_exit_container(message))
  }

  /// Reads a dictionary with values of one type.
  ///
  /// - Parameters:
  ///   - contents: the types of a key and a value.
  ///   - body: reads the key and the value.
  func eachEntry(
    _ contents: String, _ body: (borrowing BusMessage) throws(MessageBusError) -> Void
  ) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("a"), "{\(contents)}"))
    while try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("e"), contents)) > 0 {
      try body(self)
      try MessageBus.check(unsafe sd_bus_message_exit_container(message))
    }
    try MessageBus.check(unsafe sd_bus_message_exit_container(message))
  }

  /// Reads an array of the type `a(su)`.
  func eachTextAndNumber(_ body: (String, UInt32) -> Void) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("a"), "(su)"))
    while try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("r"), "su")) > 0 {
      let name = try text()
      body(name, try number("u", 0 as UInt32))
      try MessageBus.check(unsafe sd_bus_message_exit_container(message))
    }
    try MessageBus.check(unsafe sd_bus_message_exit_container(message))
  }

  /// Skips values.
  ///
  /// - Parameter types: their types.
  func skip(_ types: String) throws(MessageBusError) {
    try MessageBus.check(unsafe sd_bus_message_skip(message, types))
  }

  /// Opens a variant, and closes it after `body` has read its contents.
  func variant<Value>(
    _ contents: String, _ body: (borrowing BusMessage) throws(MessageBusError) -> Value
  ) throws(MessageBusError) -> Value {
    try MessageBus.check(unsafe sd_bus_message_enter_container(message, BusMessage.type("v"), contents))
    let value = try body(self)
    try MessageBus.check(unsafe sd_bus_message_exit_container(message))
    return value
  }

  /// Reads a value of type `s` or `o`.
  func text(_ type: Character = "s") throws(MessageBusError) -> String {
    var text: UnsafePointer<CChar>?
    try MessageBus.check(unsafe sd_bus_message_read_basic(message, BusMessage.type(type), &text))
    return unsafe text.map { unsafe String(cString: $0) } ?? ""
  }

  /// Reads a value of a type of fixed size; `b` is read as `Int32`.
  ///
  /// - Parameter blank: a value of the type's size.
  func number<Value: BitwiseCopyable>(_ type: Character, _ blank: Value) throws(MessageBusError) -> Value {
    var value = blank
    try MessageBus.check(unsafe sd_bus_message_read_basic(message, BusMessage.type(type), &value))
    return value
  }

  // MARK: - Errors

  /// The error of an error reply: its name, as in `org.freedesktop.DBus.Error.NoReply`, and the message; nil if this is
  /// not an error reply.
  var error: (name: String, message: String)? {
    guard let error = unsafe sd_bus_message_get_error(message) else { return nil }
    let name = unsafe error.pointee.name.map { unsafe String(cString: $0) } ?? ""
    let message = unsafe error.pointee.message.map { unsafe String(cString: $0) } ?? ""
    return (name, message)
  }

  /// A type's letter for libsystemd.
  static func type(_ letter: Character) -> CChar { CChar(bitPattern: letter.asciiValue ?? 0) }
}
