// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

@testable import Authorization

/// The use of a cached token in the next run of the daemon.
struct StoredTokenTests {
  private static let key = StoredToken.Key(subject: "5ab1ec7", boot: "b007")

  private func token(vehicle: String = "truck-17", at second: Int = 100, life: Int = 600) throws -> AccessToken {
    AccessToken(
      secret: Secret(AuthorizationFixture.token(AuthorizationFixture.claims(vehicle: vehicle))),
      context: try AuthorizationFixture.context(),
      receivedAt: .boot + .seconds(second), lifetime: .seconds(life), lifetimeSource: .responseDate)
  }

  private func text(_ change: (String) -> String = { $0 }) throws -> Secret {
    Secret(change(StoredToken(try token(), key: StoredTokenTests.key).text.reveal()))
  }

  private func discardReason(
    _ text: Secret, for context: AuthorizationContext? = nil, key: StoredToken.Key = key, at second: Int = 200
  ) throws -> StoredToken.DiscardReason? {
    let context = try context ?? AuthorizationFixture.context()
    do throws(StoredToken.DiscardReason) {
      _ = try StoredToken(text, for: context, key: key, at: .boot + .seconds(second))
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "in the same boot and for the same vehicle, a cached token keeps its expiry and the time of its renewal")
  func roundTrip() throws {
    let token = try token()
    let kept = try StoredToken(
      StoredToken(token, key: StoredTokenTests.key).text, for: try AuthorizationFixture.context(),
      key: StoredTokenTests.key,
      at: .boot + .seconds(699))
    expectEqual(kept.token, token)
    expect(kept.token.prefetchWindow == token.prefetchWindow)
  }

  @Test("a cached token is discarded at its expiry, and not a second earlier")
  func expired() throws {
    expectNil(try discardReason(text(), at: 699))
    try expectEqual(discardReason(text(), at: 700), .expired)
  }

  @Test("after a reboot a cached token is discarded: the boot ID differs, or the time of receipt is in the future")
  func otherBoot() throws {
    try expectEqual(discardReason(text(), key: StoredToken.Key(subject: "5ab1ec7", boot: "b008")), .otherBoot)
    try expectEqual(discardReason(text(), at: 99), .otherBoot)
  }

  @Test("a cached token is discarded if the settings changed, its claims name another vehicle, or no vehicle is known")
  func otherSettings() throws {
    try expectEqual(discardReason(text(), key: StoredToken.Key(subject: "07he4", boot: "b007")), .otherSettings)
    try expectEqual(discardReason(text(), for: AuthorizationFixture.context("truck-18")), .otherSettings)
    #expect(throws: StoredToken.DiscardReason.otherSettings) {
      try StoredToken(text(), for: nil, key: StoredTokenTests.key, at: .boot + .seconds(200))
    }
  }

  @Test("a cached token that would be valid more than ten minutes longer than its claims allow is discarded as damaged")
  func outlivesClaims() throws {
    let issued = AuthorizationFixture.wall.milliseconds / 1000
    let token = AccessToken(
      secret: Secret(AuthorizationFixture.token(AuthorizationFixture.claims(iat: issued, exp: issued + 3600))),
      context: try AuthorizationFixture.context(),
      receivedAt: .boot + .seconds(100), lifetime: .seconds(600), lifetimeSource: .claims)
    let text = StoredToken(token, key: StoredTokenTests.key).text.reveal()
    for (end, isDamage) in [
      ("700000000000", false), ("4300000000000", false), ("4301000000000", true), ("\(Int64.max)", true),
    ] {
      let changed = Secret(text.replacing("ends 700000000000", with: "ends \(end)"))
      try expectEqual(discardReason(changed), (isDamage ? .damaged : nil), "\(end)")
    }
  }

  @Test("a cached token that is truncated anywhere is discarded as damaged")
  func truncated() throws {
    let whole = try text().reveal()
    for count in 0..<whole.count {
      try expectEqual(discardReason(Secret(String(whole.prefix(count)))), .damaged, "\(count)")
    }
  }

  @Test(
    "a cached token with an altered line is discarded as damaged",
    arguments: [
      ("token 1\n", "token 2\n"), ("received 100", "received -100"), ("ends 700", "ends 50"),
      ("ends 700000000000", "ends 99999999999999999999"), ("responseDate", "hearsay"), ("boot b007", "boot b007 b008"),
      ("boot b007", "boot "), ("boot", "root"), ("token e30", "token not.a.token"), ("\n", "\n\n"), ("\n", "\r\n"),
    ])
  func damaged(old: String, new: String) throws {
    let changed = try text { text in
      // Only the first occurrence is replaced, so that each case has one defect.
      var text = text
      if let range = text.firstRange(of: old) { text.replaceSubrange(range, with: new) }
      return text
    }
    expect(try changed != text())
    try expectEqual(discardReason(changed), .damaged)
  }

  @Test("a stored token is a secret, which is printed as <redacted>")
  func secrecy() throws {
    let kept = StoredToken(try token(), key: StoredTokenTests.key)
    expectEqual("\(kept.text)", "<redacted>")
    expect(!"\(kept)".contains("e30."))
  }

  // MARK: - The subject of a stored token

  private func endpoint(_ change: (inout TokenEndpoint) -> Void = { _ in }) -> TokenProvider {
    var endpoint = TokenEndpoint(
      urlTemplate: "https://t.test/{vehicle_id}",
      headers: [.init("Authorization", .secret(prefix: "", Secret("hush"))), .init("X-Fleet", .plain("north"))],
      format: TokenResponseFormat(tokenKey: "token", expirationKey: "seconds", expiration: .relativeSeconds))
    change(&endpoint)
    return .http(endpoint)
  }

  @Test("the subject of a cached token contains everything that decides which token is issued")
  func subjects() throws {
    let context = try AuthorizationFixture.context()
    let command = TokenCommand(
      arguments: ["/bin/get", "a", "b"],
      format: TokenResponseFormat(tokenKey: "t", expirationKey: nil, expiration: .jwt))
    var otherCommand = command
    otherCommand.arguments = ["/bin/get", "a b"]
    let subjects = [
      StoredToken.subject(of: context, from: endpoint()),
      StoredToken.subject(of: try AuthorizationFixture.context("truck-18"), from: endpoint()),
      StoredToken.subject(
        of: AuthorizationContext(providerID: "my project", scope: .vehicle("truck-17")), from: endpoint()),
      StoredToken.subject(of: context, from: endpoint { $0.urlTemplate = "https://u.test/{vehicle_id}" }),
      StoredToken.subject(of: context, from: endpoint { $0.method = .post }),
      StoredToken.subject(of: context, from: endpoint { $0.bodyTemplate = "{}" }),
      StoredToken.subject(of: context, from: endpoint { $0.headers[1] = .init("X-Fleet", .plain("south")) }),
      StoredToken.subject(of: context, from: endpoint { $0.headers.removeLast() }),
      StoredToken.subject(of: context, from: endpoint { $0.format.expiration = .epochSeconds }),
      StoredToken.subject(of: context, from: .command(command)),
      StoredToken.subject(of: context, from: .command(otherCommand)),
    ]
    expect(!subjects.contains(nil))
    expectEqual(Set(subjects).count, subjects.count)
  }

  @Test("the subject of a cached token contains no secret: secrets may change, and must not be guessed from its digest")
  func noSecrets() throws {
    let context = try AuthorizationFixture.context()
    let subject = StoredToken.subject(of: context, from: endpoint())
    expectEqual(subject?.contains("hush"), false)
    let renewed = endpoint { $0.headers[0] = .init("Authorization", .secret(prefix: "", Secret("new"))) }
    expectEqual(subject, StoredToken.subject(of: context, from: renewed))
    // The timeout of a response is not part of the subject.
    expectEqual(subject, StoredToken.subject(of: context, from: endpoint { $0.deadline = .seconds(3) }))
  }

  @Test("a token from a file is not cached, and neither is a token without a context")
  func notCached() throws {
    let format = TokenResponseFormat(tokenKey: "t", expirationKey: nil, expiration: .jwt)
    expectNil(
      try StoredToken.subject(of: AuthorizationFixture.context(), from: .file(TokenFile(path: "/t", format: format))))
    expectNil(StoredToken.subject(of: nil, from: endpoint()))
  }

  // MARK: - The agent

  private func agent() throws -> TokenAgent {
    TokenAgent(
      context: try AuthorizationFixture.context(), provider: endpoint(), buildDate: AuthorizationFixture.buildDate,
      seed: 1)
  }

  @Test("a token of the previous run is used at once, and the next one is requested in the last fifth of its lifetime")
  func restored() throws {
    var agent = try agent()
    let token = try token()
    expectEqual(agent.handle(.restored(token), at: AuthorizationFixture.moment(200)), [.restored(token)])
    expectEqual(agent.token(at: .boot + .seconds(200)), token)
    expect(agent.handle(.needed, at: AuthorizationFixture.moment(579)).isEmpty)
    expectEqual(agent.handle(.needed, at: AuthorizationFixture.moment(640)).count, 1)
    expectEqual(agent.token(at: .boot + .seconds(699)), token)
    expectNil(agent.token(at: .boot + .seconds(700)))
  }

  @Test("after a reload the provider is asked with the next update, while the token of the previous run is still used")
  func reloaded() throws {
    var agent = try agent()
    let token = try token()
    _ = agent.handle(.restored(token), at: AuthorizationFixture.moment(200))
    expect(
      agent.handle(
        .configured(try AuthorizationFixture.context(), endpoint()), at: AuthorizationFixture.moment(201)
      ).isEmpty)
    expectEqual(agent.handle(.needed, at: AuthorizationFixture.moment(202)).count, 1)
    expectEqual(agent.token(at: .boot + .seconds(202)), token)
  }

  @Test("a cached token of another vehicle, an expired one, or one that is older than this run's token is not used")
  func notUsed() throws {
    var agent = try agent()
    let other = AccessToken(
      secret: Secret("x"), context: try AuthorizationFixture.context("truck-18"), receivedAt: .boot,
      lifetime: .seconds(900),
      lifetimeSource: .claims)
    expect(agent.handle(.restored(other), at: AuthorizationFixture.moment(200)).isEmpty)
    expect(agent.handle(.restored(try token()), at: AuthorizationFixture.moment(700)).isEmpty)
    expectNil(agent.token(at: .boot + .seconds(700)))
    let newer = try token(at: 700)
    _ = agent.handle(.restored(newer), at: AuthorizationFixture.moment(700))
    expect(agent.handle(.restored(try token(at: 699)), at: AuthorizationFixture.moment(700)).isEmpty)
    expectEqual(agent.token(at: .boot + .seconds(700)), newer)
  }

  @Test("a cached token that Fleet Engine rejects is removed, and a new one is fetched at once")
  func rejected() throws {
    var agent = try agent()
    let token = try token()
    _ = agent.handle(.restored(token), at: AuthorizationFixture.moment(200))
    expectEqual(agent.handle(.rejected(token), at: AuthorizationFixture.moment(201)), [.discardStored])
    expectNil(agent.token(at: .boot + .seconds(201)))
    expectEqual(agent.handle(.needed, at: AuthorizationFixture.moment(201)).count, 1)
  }
}
