// SPDX-License-Identifier: Apache-2.0
import Authorization
import Foundation
import HTTPMessages
import Testing
import Timekeeping

/// Contexts, times, tokens and responses for the tests of this target.
enum AuthorizationFixture {
  static let buildDate = Timestamp(seconds: 1_795_219_200)
  /// Ten days after the build.
  static let wall = Timestamp(seconds: 1_796_083_200)
  static let date = "Tue, 01 Dec 2026 00:00:00 GMT"

  static func context(_ vehicle: String = "truck-17") throws -> AuthorizationContext {
    try #require(AuthorizationContext(providerID: "my project", scope: .deliveryVehicle(vehicle)))
  }

  static func moment(_ seconds: Double, wall: Timestamp = wall) -> Moment {
    Moment(boot: .boot + .milliseconds(Int64(seconds * 1000)), wall: wall)
  }

  /// A token whose payload is this JSON text.
  static func token(_ payload: String) -> String {
    let text = Data(payload.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    return "e30.\(text.replacing("=", with: "")).c2ln"
  }

  static func claims(vehicle: String = "truck-17", iat: Int64? = nil, exp: Int64? = nil, serial: Int = 0) -> String {
    var members = [#""jti":"\#(serial)","authorization":{"deliveryvehicleid":"\#(vehicle)"}"#]
    if let iat { members.append("\"iat\":\(iat)") }
    if let exp { members.append("\"exp\":\(exp)") }
    return "{\(members.joined(separator: ","))}"
  }

  static func response(
    _ body: String, status: Int = 200, headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    HTTPResponse(status: status, headers: headers, body: [UInt8](body.utf8))
  }

  static func failure(_ read: () throws -> Any) -> TokenFailure? {
    do {
      _ = try read()
      return nil
    } catch {
      return error as? TokenFailure
    }
  }
}
