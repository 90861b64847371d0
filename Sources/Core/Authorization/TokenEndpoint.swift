// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// An HTTP token provider: how it is asked and how its answer is read.
package struct TokenEndpoint: Equatable, Sendable {
  /// With `{provider_id}` and `{vehicle_id}`, which are percent-encoded where they are put.
  package var urlTemplate: String
  package var method: HTTPRequest.Method
  /// Body of a POST, with the same placeholders, which are escaped as in a JSON string.
  package var bodyTemplate: String?
  package var headers: [HTTPRequest.Header]
  package var format: TokenResponseFormat
  package var deadline: Duration

  /// The longest answer that is read. A JWT of Google's is about 900 bytes.
  package static let maximumResponseSize = 65_536

  package init(
    urlTemplate: String, method: HTTPRequest.Method = .get, bodyTemplate: String? = nil,
    headers: [HTTPRequest.Header] = [], format: TokenResponseFormat, deadline: Duration = .seconds(15)
  ) {
    self.urlTemplate = urlTemplate
    self.method = method
    self.bodyTemplate = bodyTemplate
    self.headers = headers
    self.format = format
    self.deadline = deadline
  }

  /// The request for one token.
  ///
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` when there is no vehicle to ask for.
  package func request(for context: AuthorizationContext?) throws(TokenFailure) -> HTTPRequest {
    guard let context else {
      throw TokenFailure(
        .missingAuthorizationContext, "no vehicle to ask a token for: set vehicle.provider_id and vehicle.vehicle_id")
    }
    var headers = headers
    var body = [UInt8]()
    if method == .post, let bodyTemplate {
      body = [UInt8](TokenEndpoint.fill(bodyTemplate, context, TokenEndpoint.jsonEscaped).utf8)
      if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
        headers.append(.init("Content-Type", .plain("application/json")))
      }
    }
    if !headers.contains(where: { $0.name.lowercased() == "accept" }) {
      headers.append(.init("Accept", .plain("application/json")))
    }
    return HTTPRequest(
      method: method, url: TokenEndpoint.fill(urlTemplate, context, \.percentEncoded), headers: headers, body: body,
      deadline: deadline, maximumResponseSize: TokenEndpoint.maximumResponseSize)
  }

  /// One pass from left to right, so that an ID which looks like a placeholder is left as it is.
  private static func fill(
    _ template: String, _ context: AuthorizationContext, _ escape: (String) -> String
  ) -> String {
    var result = ""
    var rest = Substring(template)
    while let brace = rest.firstIndex(of: "{") {
      result += rest[..<brace]
      rest = rest[brace...]
      if rest.hasPrefix("{provider_id}") {
        result += escape(context.providerID)
        rest = rest.dropFirst("{provider_id}".count)
      } else if rest.hasPrefix("{vehicle_id}") {
        result += escape(context.vehicleID)
        rest = rest.dropFirst("{vehicle_id}".count)
      } else {
        result.append("{")
        rest = rest.dropFirst()
      }
    }
    return result + rest
  }

  private static func jsonEscaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": escaped += "\\\""
      case "\\": escaped += "\\\\"
      case "\u{0}"..<" ":
        let hex = String(scalar.value, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
