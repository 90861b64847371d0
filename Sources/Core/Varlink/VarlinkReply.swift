// SPDX-License-Identifier: Apache-2.0
package import JSON

/// A reply to a call (https://varlink.org/Method-Call).
package struct VarlinkReply: Equatable, Sendable {
  /// The full name of the error, as in `org.varlink.service.MethodNotFound`; nil: the call succeeded.
  package var error: String?
  /// What the method returns, or the fields of the error.
  package var parameters: [String: JSONValue]
  /// Whether another reply to the same call follows.
  package var continues: Bool

  /// - Parameters:
  ///   - parameters: what the method returns.
  ///   - continues: whether another reply to the same call follows.
  package init(_ parameters: [String: JSONValue] = [:], continues: Bool = false) {
    self.parameters = parameters
    self.continues = continues
  }

  /// - Parameters:
  ///   - error: its full name.
  ///   - parameters: its fields.
  package init(error: String, _ parameters: [String: JSONValue]) {
    self.error = error
    self.parameters = parameters
    continues = false
  }

  /// Parses a message from a service, without its NUL.
  ///
  /// - Returns: nil if it is not a reply.
  package init?(parsing message: [UInt8]) {
    guard let members = (try? JSONValue(parsing: message))?.object else { return nil }
    error = members["error"]?.string
    parameters = members["parameters"]?.object ?? [:]
    continues = members["continues"]?.bool ?? false
  }

  /// The message without its NUL.
  package var encoded: [UInt8] {
    var members: [String: JSONValue] = ["parameters": .object(parameters)]
    if let error { members["error"] = .string(error) }
    if continues { members["continues"] = .bool(true) }
    return JSONValue.object(members).encoded
  }
}
