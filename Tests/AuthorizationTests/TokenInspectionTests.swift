// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Authorization
import HTTPMessages
import JSON
import Testing
import Timekeeping

struct TokenInspectionTests {
  typealias Kind = TokenInspection.Problem.Kind

  static let header = #"{"alg":"RS256","typ":"JWT","kid":"k1"}"#
  static let now: Int64 = 1_796_083_200
  static let time = Timestamp(seconds: now)
  static let account = "driver@p.iam.gserviceaccount.com"

  /// The claims of a token that Fleet Engine accepts, changed by `changes`; an empty value removes a claim.
  private static func claims(_ changes: [String: String] = [:]) -> String {
    var members: [String: String] = [
      "iss": "\"\(account)\"", "sub": "\"\(account)\"", "aud": "\"https://fleetengine.googleapis.com/\"",
      "iat": "\(now - 60)", "exp": "\(now + 3540)", "authorization": #"{"deliveryvehicleid":"truck-17"}"#,
    ]
    for (name, value) in changes { members[name] = value }
    return "{" + members.filter { $0.value != "" }.map { "\"\($0)\":\($1)" }.sorted().joined(separator: ",") + "}"
  }

  private static func inspect(
    _ claims: String, header: String = header, signature: String = "c2ln", at time: Timestamp? = time
  ) throws -> TokenInspection {
    let parts = [header, claims].map { AuthorizationFixture.token($0).split(separator: ".")[1] }
    return TokenInspection(
      of: Secret("\(parts[0]).\(parts[1]).\(signature)"), for: try AuthorizationFixture.context(), at: time)
  }

  @Test("a valid token has no problem, and its lifetime is known")
  func sound() throws {
    let inspection = try TokenInspectionTests.inspect(TokenInspectionTests.claims())
    expectEqual(inspection.problems, [])
    expectNil(inspection.rejection)
    expectEqual(inspection.lifetime, .seconds(3600))
    expectEqual(inspection.remaining, .seconds(3540))
    expectEqual(inspection.header?.value(at: "kid")?.string, "k1")
    expectEqual(inspection.claims?.value(at: "authorization.deliveryvehicleid")?.string, "truck-17")
  }

  struct Case: CustomTestStringConvertible {
    var kind: Kind
    var changes: [String: String] = [:]
    var header = TokenInspectionTests.header
    var signature = "c2ln"
    /// Part of the message.
    var says: String
    var testDescription: String { "\(kind): \(says)" }
  }

  static let cases: [Case] = [
    Case(kind: .audience, changes: ["aud": "\"https://example.com/\""], says: "https://fleetengine.googleapis.com/"),
    Case(kind: .audience, changes: ["aud": "\"https://fleetengine.googleapis.com\""], says: "slash at the end"),
    Case(kind: .audience, changes: ["aud": ""], says: "no audience"),
    Case(kind: .audience, changes: ["aud": #"["a","b"]"#], says: "\"a\""),
    Case(kind: .authorizationMissing, changes: ["authorization": ""], says: "no `authorization`"),
    Case(kind: .authorizationMissing, changes: ["authorization": "\"x\""], says: "not an object"),
    Case(kind: .claimMissing, changes: ["authorization": "{}"], says: "is empty"),
    Case(
      kind: .claimMissing, changes: ["authorization": #"{"vehicleid":"truck-17"}"#],
      says: "is for `vehicleid`, and the settings say deliveries"),
    Case(kind: .claimMissing, changes: ["authorization": #"{"tripid":"t"}"#], says: "`tripid` only"),
    Case(
      kind: .claimWrongType, changes: ["authorization": #"{"deliveryvehicleid":"truck-17","taskids":"*"}"#],
      says: "array"),
    Case(kind: .otherContext, changes: ["authorization": #"{"deliveryvehicleid":"truck-18"}"#], says: "truck-18"),
    Case(kind: .anyContext, changes: ["authorization": #"{"deliveryvehicleid":"*"}"#], says: "whole fleet"),
    Case(kind: .lifetimeTooLong, changes: ["exp": "\(now + 3541)"], says: "3601 s"),
    Case(kind: .lifetimeEmpty, changes: ["iat": "\(now + 500)", "exp": "\(now + 400)"], says: "before it is issued"),
    Case(kind: .expired, changes: ["iat": "\(now - 3605)", "exp": "\(now - 5)"], says: "5 s ago"),
    Case(kind: .notYetValid, changes: ["iat": "\(now + 601)", "exp": "\(now + 900)"], says: "601 s in the future"),
    Case(kind: .issueTimeMissing, changes: ["iat": ""], says: "`iat`"),
    Case(kind: .expirationMissing, changes: ["exp": "true"], says: "`exp`"),
    Case(kind: .account, changes: ["sub": "\"other\""], says: "differ"),
    Case(kind: .account, changes: ["iss": ""], says: "service account"),
    Case(kind: .unsigned, header: #"{"alg":"none","kid":"k"}"#, says: "it is not signed"),
    Case(kind: .unsigned, header: #"{"alg":"nOnE","kid":"k"}"#, says: "RS256"),
    Case(kind: .algorithm, header: #"{"alg":"HS256","kid":"k"}"#, says: "HS256"),
    Case(kind: .algorithm, header: #"{"kid":"k"}"#, says: "no `alg`"),
    Case(kind: .keyIDMissing, header: #"{"alg":"RS256"}"#, says: "`kid`"),
    Case(kind: .headerUnreadable, header: "x", says: "header"),
    Case(kind: .signatureMissing, signature: "", says: "empty"),
  ]

  @Test("each defect of a token is reported once, without any other problem", arguments: cases)
  func flaw(_ example: Case) throws {
    let inspection = try TokenInspectionTests.inspect(
      TokenInspectionTests.claims(example.changes), header: example.header, signature: example.signature)
    expectEqual(inspection.problems.map(\.kind), [example.kind])
    expectEqual(inspection.problems.first?.sentence.text.contains(example.says), true, "\(inspection.problems)")
    expectEqual((inspection.rejection == nil), [.keyIDMissing, .anyContext].contains(example.kind))
  }

  @Test("without a reliable clock the expiry of a token is not checked")
  func withoutClock() throws {
    let inspection = try TokenInspectionTests.inspect(
      TokenInspectionTests.claims(["iat": "1", "exp": "3601"]), at: nil)
    expectEqual(inspection.problems, [])
    expectEqual(inspection.lifetime, .seconds(3600))
    expectNil(inspection.remaining)
  }

  @Test(
    "an `iat` or `exp` at or beyond the limits of its type does not trap",
    arguments: ["9223372036854775807", "-9223372036854775808", "1e300"])
  func extremes(number: String) throws {
    for changes in [["iat": number], ["exp": number], ["iat": number, "exp": number]] {
      let inspection = try TokenInspectionTests.inspect(TokenInspectionTests.claims(changes))
      expect(inspection.claims != nil)
    }
  }

  @Test("for text that is not a JWT, notJWT is the only problem", arguments: ["", "a.b", "opaque", "a.b.c.d"])
  func notJWT(text: String) throws {
    let inspection = TokenInspection(of: Secret(text), for: try AuthorizationFixture.context(), at: nil)
    expectEqual(inspection.problems.map(\.kind), [.notJWT])
    expect(inspection.header == nil && inspection.claims == nil)
  }

  @Test("no message contains a part of the token")
  func secrecy() throws {
    for example in TokenInspectionTests.cases {
      let parts = [example.header, TokenInspectionTests.claims(example.changes)]
        .map { AuthorizationFixture.token($0).split(separator: ".")[1] }
      let token = "\(parts[0]).\(parts[1]).\(example.signature)"
      let said =
        "\(TokenInspection(of: Secret(token), for: try AuthorizationFixture.context(), at: TokenInspectionTests.time))"
      for part in parts where part.count > 4 { expect(!said.contains(part)) }
    }
  }
}
