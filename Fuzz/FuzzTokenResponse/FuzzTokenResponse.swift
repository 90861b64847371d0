// SPDX-License-Identifier: Apache-2.0
// Feeds the parser of a token provider's response with inputs from libFuzzer: for each provider, in each format of
// the expiration. The first byte selects the scope and the format; the rest is the response. The lifetime of an
// accepted token must be within its claims.
//
//   scripts/fuzz.sh 60 FuzzTokenResponse
import Authorization
import HTTPMessages
import Timekeeping

private let forms: [TokenResponseFormat.Expiration] = [
  .epochSeconds, .epochMilliseconds, .relativeSeconds, .rfc3339, .jwt, .automatic,
]
private let buildDate = Timestamp(seconds: 1_795_219_200)

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  guard let choice = input.first,
    let context = AuthorizationContext(providerID: "p", scope: scope(choice))
  else { return 0 }
  let body = Array(input.dropFirst())
  let (others, form) = (choice & 31).quotientAndRemainder(dividingBy: UInt8(forms.count))
  let format = TokenResponseFormat(
    tokenKey: others & 1 == 0 ? "token" : "data.token", expirationKey: "end",
    expiration: forms[Int(form)], creationKey: others & 2 == 0 ? "made" : nil)
  for wall in [Timestamp(seconds: 0), Timestamp(seconds: 1_796_083_200), Timestamp(milliseconds: .max)] {
    let now = Moment(boot: .boot + .seconds(100), wall: wall)
    for (provider, outcome) in answers(body, format) {
      do throws(TokenFailure) {
        let token = try provider.token(from: outcome, for: context, at: now, buildDate: buildDate)
        precondition(token.deadline > now.boot, "a token that has ended is taken")
        precondition(token.context == context)
        precondition(
          token.prefetchWindow.first <= token.prefetchWindow.last && token.prefetchWindow.last <= token.deadline)
      } catch {
        precondition(!error.message.isEmpty && !error.message.utf8.contains(10), "a message that is not one line")
        precondition(error.message.utf8.count < 4000, "a message without end")
      }
    }
  }
  return 0
}

private func scope(_ choice: UInt8) -> AuthorizationContext.Scope {
  switch choice >> 5 {
  case 0: .vehicle("truck-17")
  case 1: .trip("truck-17")
  case 2: .task("truck-17")
  case 3: .trackingID("truck-17")
  default: .deliveryVehicle("truck-17")
  }
}

private func answers(_ body: [UInt8], _ format: TokenResponseFormat) -> [(TokenProvider, TokenOutcome)] {
  let date = [(name: "Date", value: "Tue, 01 Dec 2026 00:00:00 GMT")]
  let http = TokenProvider.http(TokenEndpoint(urlTemplate: "https://t.test/", format: format))
  return [
    (http, .http(.response(HTTPResponse(status: 200, body: body)))),
    (http, .http(.response(HTTPResponse(status: 200, headers: date, body: body)))),
    (
      .command(TokenCommand(arguments: ["/bin/t"], format: format)),
      .command(TokenCommand.Outcome(.exited(0), output: body, errors: body))
    ),
    (
      .file(TokenFile(path: "/t", format: format)),
      .file(.text(Secret(String(decoding: body, as: UTF8.self)), age: .seconds(60)))
    ),
  ]
}
