// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import Timekeeping

/// Why an update was not accepted.
package struct UpdateFailure: Error, Equatable, Sendable {
  /// Decides what happens next, by its ``Category/Row``.
  package var category: Category
  /// HTTP status, when an answer came.
  package var httpStatus: Int?
  /// `error.status` of google.rpc.Status, as in `PERMISSION_DENIED`.
  package var status: String?
  /// One sentence for a person, without secrets.
  package var sentence: Sentence
  /// The sentence with what the server wrote in it.
  package var message: String { sentence.text }
  /// The least wait that the server asks for.
  package var retryAfter: Duration?
  /// What is wrong with the token, when that is why, and the answer tells.
  package var cause: RefusalCause?
  /// The server has not processed the request, or its connection was dead already: the same on another connection will most
  /// likely be accepted.
  package var isUnprocessed = false

  /// Whether the request itself never left this machine: there was no connection to send it through.
  package var isUnsent = false

  /// Whether the request may still reach the server, or be processed there: it has left this machine, and nothing has answered.
  package var mayArrive: Bool { httpStatus == nil && !isUnsent && !isUnprocessed }

  /// The service that was asked.
  package var service: FleetEngineService

  package init(
    _ category: Category, _ sentence: Sentence, from service: FleetEngineService, httpStatus: Int? = nil,
    status: String? = nil, retryAfter: Duration? = nil,
    cause: RefusalCause? = nil
  ) {
    self.category = category
    self.sentence = sentence
    self.httpStatus = httpStatus
    self.status = status
    self.retryAfter = retryAfter
    self.cause = cause
    self.service = service
  }

  /// Whether it is the token that is not accepted, so that another may be.
  package var refusesToken: Bool { category.row.refusesToken || cause?.isTime == true }

  /// Whether the server that was asked has judged the request, so that sending the same again soon is of no use.
  package var isJudged: Bool { category.row.isJudged || cause != nil }

  /// The wait before the next attempt.
  package var backoff: Backoff.Bounds { refusesToken ? UpdateFailure.tokenBackoff : category.row.backoff }

  /// Where the token is at fault the token agent slows things down: without a token there is no attempt.
  static let tokenBackoff = Backoff.Bounds.seconds(1, cap: 1)

  /// What to do, as the end of a sentence: by the cause where it is known. Nil where nothing is to be done.
  package var remedy: String? { cause?.advice(for: service) ?? category.row.advice }

  /// The message, and what to do where there is something to do.
  package var advice: Sentence { remedy.map { "\(sentence); \($0)" } ?? sentence }
}
