// SPDX-License-Identifier: Apache-2.0
import Authorization
import Foundation
import HTTPMessages
import LocationDaemon
import Testing
import Timekeeping

/// A token provider's responses at a fixed time.
enum TokenFixture {
  static let buildDate = Timestamp(seconds: 1_795_219_200)
  static let wall = Timestamp(seconds: 1_796_083_200)
  static let now = Moment(boot: .boot + .seconds(100), wall: wall)
  static let date = "Tue, 01 Dec 2026 00:00:00 GMT"

  static let provider = provider(.epochSeconds)

  private static func provider(_ expiration: TokenResponseFormat.Expiration) -> TokenProvider {
    .http(
      TokenEndpoint(
        urlTemplate: "https://tokens.example.com/{vehicle_id}",
        format: TokenResponseFormat(expirationKey: "end", expiration: expiration)))
  }

  static func context() throws -> AuthorizationContext {
    try #require(AuthorizationContext(providerID: "p", scope: .deliveryVehicle("truck-17")))
  }

  /// A token without a valid signature; `parts` replaces claims, and nil removes a claim.
  static func token(
    header: String = #"{"alg":"RS256","kid":"key-1"}"#, _ parts: [String: String?] = [:], signature: String = "c2ln"
  ) -> String {
    var claims: [String: String] = [
      "aud": "\"https://fleetengine.googleapis.com/\"", "iss": "\"a@b\"", "sub": "\"a@b\"", "iat": "1796083200",
      "exp": "1796086800", "authorization": #"{"deliveryvehicleid":"truck-17"}"#,
    ]
    for (key, value) in parts { claims[key] = value }
    let payload = "{" + claims.map { "\"\($0.key)\":\($0.value)" }.sorted().joined(separator: ",") + "}"
    let encoded = [header, payload].map {
      Data($0.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
        .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    }
    return "\(encoded.joined(separator: ".")).\(signature)"
  }

  /// The provider's response.
  static func answer(
    _ token: String = token(), end: Int64? = 1_796_086_800, status: Int = 200,
    headers: [(name: String, value: String)] = [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
    expiration: TokenResponseFormat.Expiration = .epochSeconds
  ) throws -> TokenProbe.Response {
    let end = end.map { ",\"end\":\($0)" } ?? ""
    let body = "{\"token\":\"\(token)\"\(end)}"
    let response = HTTPResponse(status: status, headers: headers + [("Date", date)], body: [UInt8](body.utf8))
    return try answer(.http(.response(response)), expiration: expiration)
  }

  static func answer(
    _ outcome: TokenOutcome, expiration: TokenResponseFormat.Expiration = .epochSeconds
  ) throws -> TokenProbe.Response {
    TokenProbe.Response(
      outcome, from: provider(expiration), for: try context(), at: now, duration: .milliseconds(12),
      buildDate: buildDate)
  }
}
