// SPDX-License-Identifier: Apache-2.0
import CSystemd
package import EventLoop
package import FixSources

/// An asynchronous client of ModemManager: each request has one reply, which is passed to the handler.
@MainActor package final class ModemManagerClient {
  private static let name = "org.freedesktop.ModemManager1"
  private static let root = "/org/freedesktop/ModemManager1"
  /// The timeout for requests that ModemManager answers from memory.
  private static let replyTimeout = Duration.seconds(10)
  /// The timeout for enabling a modem's receiver.
  private static let enableTimeout = Duration.seconds(60)
  /// Maximum size of the sentences in a reply. A receiver with everything enabled sends three thousand bytes.
  private static let maximumBytes = 65_536
  /// MMModemPortType of the port with the receiver's sentences.
  fileprivate nonisolated static let receiverPortType: UInt32 = 5

  private let bus: BusConnection
  private let handler: (ModemSession.Input) -> Void
  /// The message of ModemManager's last error. Not to be used in STATUS=.
  package private(set) var errorMessage = ""

  /// The address of the system bus.
  package nonisolated static var systemBus: String { MessageBus.systemBus }

  /// - Parameters:
  ///   - address: the address of the bus.
  ///   - handler: called with `ended`, `changed`, and each reply.
  /// - Throws: `absent` if nothing listens there, `permissionDenied`, `failed`.
  package init(
    loop: EventLoop, address: String = ModemManagerClient.systemBus, handler: @escaping (ModemSession.Input) -> Void
  ) throws(MessageBusError) {
    self.handler = handler
    bus = try BusConnection(loop: loop, address: address) {
      handler(.ended("the message bus has closed the connection: systemctl status dbus"))
    }
    // Of the property changes, only those of the location are watched, and not all: the signal strength is also a
    // property.
    let signals = [
      "sender='\(ModemManagerClient.name)',interface='org.freedesktop.DBus.ObjectManager'",
      "sender='\(ModemManagerClient.name)',interface='\(ModemManagerClient.name).Modem',member='StateChanged'",
      "sender='\(ModemManagerClient.name)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        + "arg0='\(ModemManagerClient.name).Modem.Location'",
      "sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
        + "arg0='\(ModemManagerClient.name)'",
    ]
    for rule in signals { try bus.addMatch("type='signal',\(rule)") { handler(.changed) } }
  }

  /// Closes the connection; the handler is no longer called.
  package func close() { bus.close() }

  /// Lists all modems.
  package func list() {
    call("GetManagedObjects", of: "org.freedesktop.DBus.ObjectManager", at: ModemManagerClient.root) {
      reply throws(MessageBusError) in .modems(try Modem.all(in: reply))
    }
  }

  /// Enables exactly these location sources of a modem, without the signals that report each position, which every user
  /// of the machine would receive.
  package func enable(_ sources: Modem.LocationSources, of path: String) {
    call(
      "Setup", of: "\(ModemManagerClient.name).Modem.Location", at: path, timeLimit: ModemManagerClient.enableTimeout,
      { message throws(MessageBusError) in
        try message.append(u: sources.rawValue)
        try message.append(b: false)
      }, reply: { _ in .enabled })
  }

  /// Does the same synchronously, at the end of a process: ModemManager authorizes the caller through polkit, and the
  /// caller must exist until then.
  package func enableAndWait(_ sources: Modem.LocationSources, of path: String, timeLimit: Duration) {
    guard
      let request = try? bus.methodCall(
        "Setup", of: "\(ModemManagerClient.name).Modem.Location", at: path, to: ModemManagerClient.name),
      (try? request.append(u: sources.rawValue)) != nil, (try? request.append(b: false)) != nil
    else { return }
    bus.sendAndWait(request, timeLimit: timeLimit)
  }

  /// Gets the position of a modem.
  package func locate(_ path: String) {
    call("GetLocation", of: "\(ModemManagerClient.name).Modem.Location", at: path) {
      reply throws(MessageBusError) in .position(try ModemPosition(reply, limit: ModemManagerClient.maximumBytes))
    }
  }

  private func call(
    _ method: String, of interface: String, at path: String, timeLimit: Duration = replyTimeout,
    _ fill: (borrowing BusMessage) throws(MessageBusError) -> Void = { _ throws(MessageBusError) in },
    reply read: @escaping (borrowing BusMessage) throws(MessageBusError) -> ModemSession.Input
  ) {
    do throws(MessageBusError) {
      let request = try bus.methodCall(method, of: interface, at: path, to: ModemManagerClient.name)
      try fill(request)
      try bus.send(request, timeLimit: timeLimit) { [weak self] reply in
        guard let self, bus.isOpen else { return }
        if let error = reply.error {
          errorMessage = error.message
          return handler(.refused(ModemSession.Refusal(name: error.name)))
        }
        do throws(MessageBusError) {
          handler(try read(reply))
        } catch {
          handler(.refused(.other))
        }
      }
    } catch {
      // The connection is closed, which will be reported next, or there is no memory.
      handler(.refused(.other))
    }
  }
}

extension ModemSession.Refusal {
  /// - Parameter name: the name of a D-Bus error.
  init(name: String) {
    let core = "org.freedesktop.ModemManager1.Error.Core."
    let bus = "org.freedesktop.DBus.Error."
    self =
      switch name {
      case bus + "ServiceUnknown", bus + "NameHasNoOwner": .absent
      case bus + "UnknownObject", bus + "UnknownMethod", bus + "UnknownInterface": .gone
      case bus + "AccessDenied", bus + "InteractiveAuthorizationRequired", core + "Unauthorized": .unauthorized
      case core + "WrongState": .wrongState
      case bus + "NoReply", bus + "Timeout", bus + "TimedOut": .silent
      default: .other
      }
  }
}

extension Modem {
  /// The modems in a reply of type `a{oa{sa{sv}}}`. Objects that are not modems are ignored.
  static func all(in reply: borrowing BusMessage) throws(MessageBusError) -> [Modem] {
    var modems: [Modem] = []
    try reply.eachEntry("oa{sa{sv}}") { reply throws(MessageBusError) in
      var modem = Modem(path: try reply.text("o"))
      var isModem = false
      try reply.eachEntry("sa{sv}") { reply throws(MessageBusError) in
        switch try reply.text() {
        case "org.freedesktop.ModemManager1.Modem":
          isModem = true
          try modem.read(reply)
        case "org.freedesktop.ModemManager1.Modem.Location": try modem.readLocation(reply)
        default: try reply.skip("a{sv}")
        }
      }
      if isModem { modems.append(modem) }
    }
    return modems
  }

  private mutating func read(_ properties: borrowing BusMessage) throws(MessageBusError) {
    var stateNumber: Int32 = 0
    var failure: UInt32 = 0
    try properties.eachProperty { name, type, value throws(MessageBusError) in
      switch (name, type) {
      case ("Device", "s"): device = try value.text()
      case ("EquipmentIdentifier", "s"): imei = try value.text()
      case ("Manufacturer", "s"): manufacturer = try value.text()
      case ("Model", "s"): model = try value.text()
      case ("State", "i"): stateNumber = try value.number("i", 0 as Int32)
      case ("StateFailedReason", "u"): failure = try value.number("u", 0 as UInt32)
      case ("Ports", "a(su)"):
        try value.eachTextAndNumber { if $1 == ModemManagerClient.receiverPortType { receiverPorts.append($0) } }
      default: break
      }
    }
    state = State(stateNumber, failure: failure)
  }

  private mutating func readLocation(_ properties: borrowing BusMessage) throws(MessageBusError) {
    var location = Location(offered: [])
    try properties.eachProperty { name, type, value throws(MessageBusError) in
      switch (name, type) {
      case ("Capabilities", "u"): location.offered = LocationSources(rawValue: try value.number("u", 0 as UInt32))
      case ("Enabled", "u"): location.enabled = LocationSources(rawValue: try value.number("u", 0 as UInt32))
      case ("SignalsLocation", "b"): location.isSignalled = try value.number("b", 0 as Int32) != 0
      default: break
      }
    }
    self.location = location
  }
}

extension ModemPosition {
  /// Parses a reply of type `a{uv}`.
  ///
  /// - Parameter limit: maximum size of the sentences in bytes.
  init(_ reply: borrowing BusMessage, limit: Int) throws(MessageBusError) {
    var position = ModemPosition()
    try reply.eachEntry("uv") { reply throws(MessageBusError) in
      switch Modem.LocationSources(rawValue: try reply.number("u", 0 as UInt32)) {
      case .nmea:
        let text = try reply.variant("s") { value throws(MessageBusError) in try value.text() }
        position.sentences = Array(text.utf8.prefix(limit))
      case .raw:
        position.raw = try reply.variant("a{sv}") { value throws(MessageBusError) in try Raw(value) }
      default: try reply.skip("v")
      }
    }
    self = position
  }
}

extension ModemPosition.Raw {
  /// Parses a dictionary of type `a{sv}`; nil without a time or position.
  fileprivate init?(_ properties: borrowing BusMessage) throws(MessageBusError) {
    var time = ""
    var latitude = Double.nan
    var longitude = Double.nan
    var altitude: Double?
    try properties.eachProperty { name, type, value throws(MessageBusError) in
      switch (name, type) {
      case ("utc-time", "s"): time = try value.text()
      case ("latitude", "d"): latitude = try value.number("d", 0.0)
      case ("longitude", "d"): longitude = try value.number("d", 0.0)
      case ("altitude", "d"): altitude = try value.number("d", 0.0)
      default: break
      }
    }
    guard !time.isEmpty, !latitude.isNaN, !longitude.isNaN else { return nil }
    self.init(time: time, latitude: latitude, longitude: longitude, altitude: altitude)
  }
}
