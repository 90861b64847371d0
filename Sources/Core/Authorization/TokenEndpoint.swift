// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// An HTTP token provider: how it is asked and how its answer is read.
package struct TokenEndpoint: Equatable, Sendable {
  /// With placeholders as in `{vehicle_id}`, which are percent-encoded where they are put.
  package var urlTemplate: String
  /// Of the request.
  package var method: HTTPRequest.Method
  /// Body of a POST, with the same placeholders, which are escaped as in a JSON string.
  package var bodyTemplate: String?
  /// Of the request, secrets among them.
  package var headers: [HTTPRequest.Header]
  /// How the body of the answer is read.
  package var format: TokenResponseFormat
  /// From asking to the last byte of the answer; more than zero.
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
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` when a template wants what the context has not.
  package func request(for context: AuthorizationContext) throws(TokenFailure) -> HTTPRequest {
    var headers = headers
    var body = [UInt8]()
    if method == .post, let bodyTemplate {
      body = [UInt8](try ContextTemplate.fill(bodyTemplate, context, ContextTemplate.jsonEscaped).utf8)
      if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
        headers.append(.init("Content-Type", .plain("application/json")))
      }
    }
    if !headers.contains(where: { $0.name.lowercased() == "accept" }) {
      headers.append(.init("Accept", .plain("application/json")))
    }
    return HTTPRequest(
      method: method, url: try ContextTemplate.fill(urlTemplate, context, \.percentEncoded), headers: headers,
      body: body, deadline: deadline, maximumResponseSize: TokenEndpoint.maximumResponseSize)
  }
}
