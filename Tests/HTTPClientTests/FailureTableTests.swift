// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing

@testable import HTTPClient

@Suite struct FailureTableTests {
  @Test(
    "a TLS alert about the client certificate is named, other alerts are not",
    arguments: [
      ("SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", true),
      ("SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate, errno 0", true),
      ("SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0", true),
      ("SSL certificate problem: unable to get local issuer certificate", false),
      ("error:0A000410:SSL routines::sslv3 alert handshake failure", false),
    ])
  func ownCertificate(message: String, isNamed: Bool) {
    expectEqual(FailureTable.isAboutOwnCertificate(message), isNamed)
    expectEqual(FailureTable.message(nil, message).hasSuffix("rejects the one that it was given"), isNamed)
  }
}
