// SPDX-License-Identifier: Apache-2.0
import JSON

/// A service with one interface in addition to `org.varlink.service`, which every service has
/// (https://varlink.org/Service).
package struct VarlinkService: Sendable {
  /// A method of the interface.
  package struct Method: Equatable, Sendable {
    /// The name without the interface.
    package var name: String
    /// Its parameters, all required.
    package var parameters: [String: ParameterType]
    /// Whether it has any number of replies, so that only a client that accepts more than one may call it.
    package var isStream: Bool

    package init(_ name: String, _ parameters: [String: ParameterType] = [:], isStream: Bool = false) {
      self.name = name
      self.parameters = parameters
      self.isStream = isStream
    }
  }

  /// The type of a parameter.
  package enum ParameterType: String, Sendable {
    case bool, string, int
  }

  /// The result of validating a call.
  package enum Validation: Equatable, Sendable {
    /// A call of a method of the interface, with valid parameters.
    case call(Method)
    /// The service itself has replied.
    case reply(VarlinkReply)
  }

  private static let standardInterface = "org.varlink.service"
  private static let getInfo = Method("GetInfo")
  private static let getDescription = Method("GetInterfaceDescription", ["interface": .string])

  private let vendor: String
  private let version: String
  private let interface: String
  private let description: String
  private let methods: [Method]

  /// - Parameters:
  ///   - vendor: the vendor's name, which is also the name of the product.
  ///   - version: the program's release.
  ///   - interface: the name of the interface.
  ///   - description: the interface in Varlink's language.
  ///   - methods: the methods of the interface.
  package init(vendor: String, version: String, interface: String, description: String, methods: [Method]) {
    self.vendor = vendor
    self.version = version
    self.interface = interface
    self.description = description
    self.methods = methods
  }

  /// Validates a call, and answers calls of `org.varlink.service`.
  package func handle(_ call: VarlinkCall) -> Validation {
    let isStandard = call.interface == VarlinkService.standardInterface
    guard isStandard || call.interface == interface else {
      return errorReply("InterfaceNotFound", "interface", call.interface)
    }
    let known = isStandard ? [VarlinkService.getInfo, VarlinkService.getDescription] : methods
    guard let method = known.first(where: { $0.name == call.method }) else {
      return errorReply("MethodNotFound", "method", "\(call.interface).\(call.method)")
    }
    if call.isUpgrade { return errorReply("InvalidParameter", "parameter", "upgrade") }
    if let name = VarlinkService.invalidParameter(in: call.parameters, of: method) {
      return errorReply("InvalidParameter", "parameter", name)
    }
    if method.isStream, !call.acceptsMore || call.isOneway {
      return .reply(VarlinkReply(error: "\(VarlinkService.standardInterface).ExpectedMore", [:]))
    }
    guard isStandard else { return .call(method) }
    return .reply(method == VarlinkService.getInfo ? info : describe(call.parameters["interface"]?.string ?? ""))
  }

  /// The name of the first parameter that is unknown, missing or of the wrong type; nil if all are valid.
  private static func invalidParameter(in parameters: [String: JSONValue], of method: Method) -> String? {
    if let unknown = parameters.keys.filter({ method.parameters[$0] == nil }).min() { return unknown }
    return method.parameters.keys.sorted().first { name in
      switch method.parameters[name] {
      case .bool: parameters[name]?.bool == nil
      case .string: parameters[name]?.string == nil
      // A string of digits is not an integer.
      case .int: parameters[name]?.integer == nil || parameters[name]?.string != nil
      case nil: false
      }
    }
  }

  private func errorReply(_ error: String, _ field: String, _ value: String) -> Validation {
    .reply(VarlinkReply(error: "\(VarlinkService.standardInterface).\(error)", [field: .string(value)]))
  }

  private var info: VarlinkReply {
    VarlinkReply([
      "vendor": .string(vendor), "product": .string(vendor), "version": .string(version), "url": .string(""),
      "interfaces": .array([.string(VarlinkService.standardInterface), .string(interface)]),
    ])
  }

  private func describe(_ name: String) -> VarlinkReply {
    switch name {
    case interface: VarlinkReply(["description": .string(description)])
    case VarlinkService.standardInterface: VarlinkReply(["description": .string(VarlinkService.standardDescription)])
    default:
      VarlinkReply(error: "\(VarlinkService.standardInterface).InterfaceNotFound", ["interface": .string(name)])
    }
  }

  private static let standardDescription = """
    # Every Varlink service has this interface: which interfaces it serves, and what they are.
    interface org.varlink.service

    # The program behind the socket, and the names of its interfaces.
    method GetInfo() -> (
      vendor: string,
      product: string,
      version: string,
      url: string,
      interfaces: []string
    )

    # An interface in Varlink's language, with its comments.
    method GetInterfaceDescription(interface: string) -> (description: string)

    # There is no such interface.
    error InterfaceNotFound (interface: string)

    # The interface has no such method.
    error MethodNotFound (method: string)

    # The interface has this method, and the service does not implement it.
    error MethodNotImplemented (method: string)

    # This parameter is unknown, missing or of the wrong type.
    error InvalidParameter (parameter: string)

    # The client may not call this method.
    error PermissionDenied ()

    # The method has several replies, and the call lacks "more".
    error ExpectedMore ()

    """
}
