// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import HTTPMessages

/// An HTTP token provider: the request and the format of its response.
package struct TokenEndpoint: Equatable, Sendable {
  /// The URL, with placeholders such as `{vehicle_id}`, whose values are percent-encoded.
  package var urlTemplate: String
  /// The HTTP method.
  package var method: HTTPRequest.Method
  /// The body of a POST, with the same placeholders, whose values are escaped for JSON strings.
  package var bodyTemplate: String?
  /// The request's headers, which may contain secrets.
  package var headers: [HTTPRequest.Header]
  /// The format of the response's body.
  package var format: TokenResponseFormat
  /// The timeout from the request to the last byte of the response; more than zero.
  package var deadline: Duration
  /// The client that sends the request. Its proxy and certificates decide whether the provider answers, so another
  /// client counts as another provider.
  package var client = HTTPClientConfiguration()

  /// The maximum size of a response, in bytes. Google's JWTs have about 900.
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

  /// The host and the path that are asked, without the user, the query and anything that looks like a secret; nil if
  /// the context has no value for a placeholder. Only the host may be shown to everyone.
  func address(for context: AuthorizationContext) -> Sentence? {
    guard let url = try? ContextTemplate.expand(urlTemplate, context, \.percentEncoded) else { return nil }
    let rest = url.parts(around: "://")?.after ?? url[...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let host = ExternalText(authority.split(separator: "@").last ?? "", limit: 100, showing: context.names)
    let path = rest.dropFirst(authority.count).prefix { $0 != "?" && $0 != "#" }
    guard path.count > 1 else { return "\(worldReadable: host)" }
    return "\(worldReadable: host)\(ExternalText(path, showing: context.names))"
  }

  /// The request for one token.
  ///
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` if the context has no value for a placeholder.
  package func request(for context: AuthorizationContext) throws(TokenFailure) -> HTTPRequest {
    var headers = headers
    var body = [UInt8]()
    if method == .post, let bodyTemplate {
      body = [UInt8](try ContextTemplate.expand(bodyTemplate, context, ContextTemplate.jsonEscaped).utf8)
      if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
        headers.append(.init("Content-Type", .plain("application/json")))
      }
    }
    if !headers.contains(where: { $0.name.lowercased() == "accept" }) {
      headers.append(.init("Accept", .plain("application/json")))
    }
    return HTTPRequest(
      method: method, url: try ContextTemplate.expand(urlTemplate, context, \.percentEncoded), headers: headers,
      body: body, deadline: deadline, maximumResponseSize: TokenEndpoint.maximumResponseSize)
  }
}
