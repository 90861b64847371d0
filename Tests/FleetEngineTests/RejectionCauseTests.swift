// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import FleetEngine
import HTTPMessages
import Testing

struct RejectionCauseTests {
  private func refusal(_ http: Int, _ status: String, _ message: String, reason: String? = nil) -> UpdateFailure? {
    let details =
      reason.map {
        #","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#($0)","domain":"googleapis.com"}]"#
      } ?? ""
    let body = #"{"error":{"code":\#(http),"status":"\#(status)","message":"\#(message)"\#(details)}}"#
    let response = HTTPResponse(status: http, body: [UInt8](body.utf8))
    guard case .failed(let failure) = UpdateOutcome(.response(response), from: .deliveries) else { return nil }
    return failure
  }

  private static let vague =
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."

  @Test(
    "a rejection of the token's times is reported as clock skew, whether its reason or its text shows it",
    arguments: [
      (vague, "ACCESS_TOKEN_EXPIRED", .expired), ("JWT validation failed: TIME_CONSTRAINT_FAILURE", nil, .lifetime),
      (
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.",
        nil, .lifetime
      ),
      ("Jwt is expired", nil, .expired), ("The token expired 61 s ago.", "ACCESS_TOKEN_EXPIRED", .expired),
      ("Jwt not yet valid", nil, .notYetValid), ("The token is issued 1800 s in the future.", nil, .notYetValid),
      ("The token lives longer than an hour.", nil, .lifetime),
    ] as [(String, String?, RejectionCause)])
  func times(message: String, reason: String?, cause: RejectionCause) throws {
    let failure = try #require(refusal(401, "UNAUTHENTICATED", message, reason: reason))
    expectEqual(failure.category, .clockSkew)
    expectEqual(failure.cause, cause)
    expect(failure.rejectsToken && failure.isEvaluated)
  }

  @Test(
    "a wrong role, a wrong vehicle and other causes of a 403 are distinguished; all have the category permissionDenied",
    arguments: [
      ("Permission 'fleetengine.deliveryvehicles.updateLocation' denied on resource", "IAM_PERMISSION_DENIED", .role),
      ("Permission 'fleetengine.deliveryvehicles.updateLocation' denied", nil, .role),
      ("The token does not allow access to this delivery vehicle.", nil, .otherVehicle),
      ("JWT does not contain any scopes.", nil, .noAuthorization),
      (
        "Local Rides and Deliveries API has not been used in project 1 before or it is disabled. Enable it",
        "SERVICE_DISABLED", .apiDisabled
      ),
      ("The caller does not have permission", nil, nil),
    ] as [(String, String?, RejectionCause?)])
  func permissions(message: String, reason: String?, cause: RejectionCause?) throws {
    let failure = try #require(refusal(403, "PERMISSION_DENIED", message, reason: reason))
    expectEqual(failure.category, .permissionDenied)
    expectEqual(failure.cause, cause)
    expect(failure.rejectsToken)
  }

  @Test(
    "a rejected signature is attributed to the key, and not to the role",
    arguments: [
      ("The token is not signed by a key of this project.", "SIGNATURE_INVALID"), ("Jwt verification fails", nil),
      ("Jwks doesn't have key to match kid or alg from Jwt", nil), ("JWT validation failed: BAD_SIGNATURE", nil),
      ("Jwt issuer is not configured", nil), (vague, "SIGNATURE_INVALID"),
    ] as [(String, String?)])
  func signature(message: String, reason: String?) throws {
    let failure = try #require(refusal(401, "UNAUTHENTICATED", message, reason: reason))
    expect(failure.category == .unauthenticated && failure.cause == .signature)
    expect(failure.advice?.contains("key") == true && failure.advice?.contains("role") == false)
  }

  @Test("the advice for a denied request names `vehicle.provider_id`, whether its message shows the cause or not")
  func project() throws {
    for message in ["Permission 'fleetengine.deliveryvehicles.updateLocation' denied on resource", "no"] {
      let failure = try #require(refusal(403, "PERMISSION_DENIED", message))
      expectEqual(failure.advice?.contains("vehicle.provider_id"), true)
    }
  }

  @Test("a message about credentials alone is not taken for clock skew")
  func vagueWords() throws {
    let failure = try #require(refusal(401, "UNAUTHENTICATED", RejectionCauseTests.vague))
    expectEqual(failure.category, .unauthenticated)
    expectNil(failure.cause)
  }

  @Test("words about time are ignored in a response that does not concern the token")
  func otherStatus() throws {
    let failure = try #require(
      refusal(400, "INVALID_ARGUMENT", "update_time is in the future", reason: "ACCESS_TOKEN_EXPIRED"))
    expectEqual(failure.category, .rejected)
    expect(failure.cause == nil && !failure.rejectsToken)
  }

  @Test("a certificate that is not yet valid is reported as clock skew, but not as a rejected token")
  func certificate() {
    let outcome = UpdateOutcome(.failure(TransportFailure(.certificateNotYetValid, "x")), from: .deliveries)
    guard case .failed(let failure) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    expectEqual(failure.category, .clockSkew)
    expect(!failure.rejectsToken && !failure.isEvaluated)
  }

  @Test("a token that the server quotes is redacted")
  func quoted() throws {
    let failure = try #require(
      refusal(401, "UNAUTHENTICATED", "bad token eyJhbGciOiJSUzI1NiJ9.eyJpYXQiOjF9.AbC123AbC123AbC123AbC123"))
    expectEqual(failure.message, "UNAUTHENTICATED: bad token <redacted>")
  }

  @Test("each rejection cause has different advice")
  func advice() {
    expectEqual(Set(RejectionCause.allCases.map { $0.advice(for: .deliveries) }).count, RejectionCause.allCases.count)
  }
}
