// SPDX-License-Identifier: Apache-2.0
import CSystemd
import EventLoop
import SystemCalls
import Timekeeping

/// A connection to a bus on the event loop: replies and signals are passed to handlers.
@MainActor @safe final class BusConnection {
  private var bus: OpaquePointer?
  /// The registered callbacks: those for replies until the reply arrives, those for signals as long as the connection
  /// exists.
  private var slots: [ObjectIdentifier: BusSlot] = [:]

  /// - Parameters:
  ///   - address: as in `unix:path=/run/dbus/system_bus_socket`.
  ///   - onEnd: called when the connection failed or was closed by the other end. Not called after `close`.
  /// - Throws: `absent` if nothing listens there, `permissionDenied`, `failed`.
  init(loop: EventLoop, address: String, onEnd: @escaping () -> Void) throws(MessageBusError) {
    var newBus: OpaquePointer?
    try MessageBus.check(unsafe sd_bus_new(&newBus))
    unsafe bus = newBus
    do {
      try MessageBus.check(unsafe sd_bus_set_address(newBus, address))
      try MessageBus.check(unsafe sd_bus_set_bus_client(newBus, 1))
      try MessageBus.check(unsafe sd_bus_start(newBus))
      try unsafe MessageBus.check(loop.attach { unsafe sd_bus_attach_event(newBus, $0, 0) })
      try addMatch(
        "type='signal',sender='org.freedesktop.DBus.Local',interface='org.freedesktop.DBus.Local',member='Disconnected'",
        onEnd)
    } catch {
      close()
      throw error
    }
  }

  isolated deinit { close() }

  /// False once the other end has closed the connection: pending calls fail before `onEnd` is called.
  var isOpen: Bool { unsafe sd_bus_is_open(bus) > 0 }

  /// Closes the connection. No handler is called after that.
  func close() {
    for slot in slots.values { slot.close() }
    slots = [:]
    guard let bus = unsafe bus else { return }
    unsafe self.bus = nil
    unsafe sd_bus_close_unref(bus)
  }

  /// Subscribes to signals.
  ///
  /// - Parameter rule: a match rule of the D-Bus specification.
  func addMatch(_ rule: String, _ handler: @escaping () -> Void) throws(MessageBusError) {
    let slot = BusSlot { _ in handler() }
    slots[ObjectIdentifier(slot)] = slot
    try MessageBus.check(
      unsafe slot.register { place, context in
        unsafe sd_bus_add_match_async(
          bus, place, rule,
          { message, context, _ in
            unsafe BusSlot.dispatch(message, to: context)
            return 0
          }, nil, context)
      })
  }

  /// Creates a method call, without service activation.
  func methodCall(
    _ method: String, of interface: String, at path: String, to destination: String
  ) throws(MessageBusError) -> BusMessage {
    var message: OpaquePointer?
    try MessageBus.check(
      unsafe sd_bus_message_new_method_call(bus, &message, destination, path, interface, method))
    guard let request = unsafe BusMessage(owning: message) else {
      throw MessageBusError(.failed, "no memory for a message")
    }
    try unsafe MessageBus.check(request.withPointer { unsafe sd_bus_message_set_auto_start($0, 0) })
    return request
  }

  /// Sends a method call.
  ///
  /// - Parameters:
  ///   - timeLimit: the timeout for the reply, after which `completion` is called with an error.
  ///   - completion: called once with the reply or the error.
  func send(
    _ request: borrowing BusMessage, timeLimit: Duration, _ completion: @escaping (borrowing BusMessage) -> Void
  ) throws(MessageBusError) {
    let slot = BusSlot(completion)
    let key = ObjectIdentifier(slot)
    slot.onReply = { [weak self] in self?.slots[key] = nil }
    let result = unsafe request.withPointer { message in
      unsafe slot.register { place, context in
        unsafe sd_bus_call_async(
          bus, place, message,
          { message, context, _ in
            unsafe BusSlot.dispatch(message, to: context)
            return 0
          }, context, UInt64(clamping: timeLimit.nanoseconds / 1000))
      }
    }
    try MessageBus.check(result)
    slots[key] = slot
  }

  /// Sends a method call, and waits for its reply without reading it: for the end of a process.
  func sendAndWait(_ request: borrowing BusMessage, timeLimit: Duration) {
    _ = unsafe request.withPointer {
      unsafe sd_bus_call(bus, $0, UInt64(clamping: timeLimit.nanoseconds / 1000), nil, nil)
    }
  }
}

/// A callback for a message.
@MainActor @safe private final class BusSlot {
  private var slot: OpaquePointer?
  private var handler: ((borrowing BusMessage) -> Void)?
  /// Called after a reply; nil for signals.
  var onReply: (() -> Void)?

  init(_ handler: @escaping (borrowing BusMessage) -> Void) {
    unsafe slot = nil
    self.handler = handler
  }

  /// Passes the slot and the context to a libsystemd function. The context is this object, unretained: the slot never
  /// outlives it.
  func register(_ add: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32) -> Int32 {
    unsafe add(&slot, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Cancels the callback.
  func close() {
    handler = nil
    onReply = nil
    guard let slot = unsafe slot else { return }
    unsafe self.slot = nil
    unsafe sd_bus_slot_unref(slot)
  }

  static func dispatch(_ message: OpaquePointer?, to context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context, let message = unsafe message,
      let message = unsafe BusMessage(owning: sd_bus_message_ref(message))
    else { return }
    let slot = unsafe Unmanaged<BusSlot>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(slot) {
      let (handler, onReply) = (slot.handler, slot.onReply)
      if let onReply {
        onReply()
        slot.close()
      }
      handler?(message)
    }
  }
}
