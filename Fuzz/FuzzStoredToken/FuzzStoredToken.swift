// SPDX-License-Identifier: Apache-2.0
// Feeds the parsers of what an earlier run has stored with inputs from libFuzzer: a token with its times, with the boot
// and subject prepended once, because hardly any input would contain them; the records of a pause and of the driver's
// duty; and what is known of the form of updates. A token that is used must not have expired, and what is read must be
// the same after it was written and read again.
//
//   scripts/fuzz.sh 60 FuzzStoredToken
import Authorization
import Delivery
import Vehicle
import HTTPMessages
import Timekeeping

private let key = StoredToken.Key(subject: "5ab1ec7", boot: "b007")
private let formHead = "fleet-locationd update form 1\nserver https://e\nrelease 1\n"
private let head = "fleet-locationd token 1\nboot b007\nsubject 5ab1ec7\n"

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  let now = BootInstant.boot + .seconds(200)
  for text in [input, head + input] {
    guard let context = AuthorizationContext(providerID: "p", scope: .deliveryVehicle("v")),
      let kept = try? StoredToken(Secret(text), for: context, key: key, at: now)
    else { continue }
    precondition(kept.token.isValid(at: now) && kept.token.prefetchWindow.first <= kept.token.prefetchWindow.last)
    precondition(kept.token.prefetchWindow.last <= kept.token.deadline)
    precondition((try? StoredToken(kept.text, for: context, key: key, at: now)) == kept, "written, it is another")
  }
  let note = PauseRecord(text: input)
  precondition(PauseRecord(text: note.text) == note, "written, it is another pause")
  let duty = DutyRecord(text: input)
  precondition(DutyRecord(text: duty.text) == duty, "written, it is another duty")
  var negotiation = UpdateFormNegotiation(UpdateFormNegotiation.Configuration(release: "1"), server: "https://e")
  for text in [input, formHead + input] { negotiation.restore(text) }
  switch negotiation.summary {
  case .untested, .rejected(httpStatus: 100..<600): break
  case .off, .accepted, .fallback, .rejected: preconditionFailure("a file says \(negotiation.summary)")
  }
  return 0
}
