// SPDX-License-Identifier: Apache-2.0
package import JSON

/// A call of a method (https://varlink.org/Method-Call).
package struct VarlinkCall: Equatable, Sendable {
  /// The name of the interface, as in `org.varlink.service`; empty if the method has none.
  package var interface: String
  /// The name of the method without its interface, as in `GetInfo`.
  package var method: String
  /// Its parameters by their names.
  package var parameters: [String: JSONValue]
  /// Whether no reply is wanted, not even an error.
  package var isOneway: Bool
  /// Whether more than one reply is accepted.
  package var acceptsMore: Bool
  /// Whether the connection is to be switched to another protocol afterwards, which no method here supports.
  package var isUpgrade: Bool

  /// The maximum number of values in a call.
  private static let maximumValues = 256

  /// - Parameters:
  ///   - interface: the name of the interface.
  ///   - method: the name of the method without its interface.
  package init(
    _ interface: String, _ method: String, _ parameters: [String: JSONValue] = [:], isOneway: Bool = false,
    acceptsMore: Bool = false
  ) {
    self.interface = interface
    self.method = method
    self.parameters = parameters
    self.isOneway = isOneway
    self.acceptsMore = acceptsMore
    isUpgrade = false
  }

  /// Parses a message from an untrusted client, without its NUL.
  ///
  /// - Returns: nil if it is not a call: there is no error to answer it with.
  package init?(parsing message: [UInt8]) {
    guard let value = try? JSONValue(parsing: message, maximumValues: VarlinkCall.maximumValues),
      let members = value.object, let name = members["method"]?.string
    else { return nil }
    let dot = name.lastIndex(of: ".")
    interface = dot.map { String(name[..<$0]) } ?? ""
    method = dot.map { String(name[name.index(after: $0)...]) } ?? name
    switch members["parameters"] {
    case nil, .null: parameters = [:]
    case .object(let members): parameters = members
    default: return nil
    }
    guard let isOneway = VarlinkCall.flag(members["oneway"]), let acceptsMore = VarlinkCall.flag(members["more"]),
      let isUpgrade = VarlinkCall.flag(members["upgrade"])
    else { return nil }
    (self.isOneway, self.acceptsMore, self.isUpgrade) = (isOneway, acceptsMore, isUpgrade)
  }

  /// - Returns: nil if it is not a flag.
  private static func flag(_ value: JSONValue?) -> Bool? {
    guard let value, value != .null else { return false }
    return value.bool
  }

  /// The message without its NUL.
  package var encoded: [UInt8] {
    var members: [String: JSONValue] = ["method": .string("\(interface).\(method)")]
    if !parameters.isEmpty { members["parameters"] = .object(parameters) }
    if isOneway { members["oneway"] = .bool(true) }
    if acceptsMore { members["more"] = .bool(true) }
    return JSONValue.object(members).encoded
  }
}
