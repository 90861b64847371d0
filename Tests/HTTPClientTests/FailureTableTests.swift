// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing

@testable import HTTPClient

struct FailureTableTests {
  @Test(
    "the duration is removed from a failure's message, so that equal failures have the same text",
    arguments: [
      (
        "Failed to connect to 127.0.0.1 port 9 after 3 ms: Couldn't connect to server",
        "Failed to connect to 127.0.0.1 port 9: Couldn't connect to server"
      ),
      ("Connection timed out after 10001 milliseconds", "Connection timed out"),
      ("look after 3 msgs", "look after 3 msgs"), ("the day after", "the day after"),
      ("gone after ms", "gone after ms"),
    ])
  func durations(message: String, expected: String) {
    expectEqual(FailureTable.message(nil, message), expected)
  }

  @Test(
    "a TLS alert about the client certificate is recognized, and other TLS errors are not taken for one",
    arguments: [
      ("SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", true),
      ("SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate, errno 0", true),
      ("SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0", true),
      ("SSL certificate problem: unable to get local issuer certificate", false),
      ("error:0A000410:SSL routines::sslv3 alert handshake failure", false),
    ])
  func ownCertificate(message: String, isNamed: Bool) {
    expectEqual(FailureTable.isClientCertificateAlert(message), isNamed)
    expectEqual(FailureTable.message(nil, message).hasSuffix("rejects the one that it was given"), isNamed)
  }
}
