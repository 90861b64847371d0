// SPDX-License-Identifier: Apache-2.0
// Feeds the parsing and the inspection of a JWT with inputs from libFuzzer: as the whole token, and as header and
// claims that are encoded in base64 first, because hardly any input is valid base64. No message may contain a long
// part of the token.
//
//   scripts/fuzz.sh 60 FuzzJWT
import Authorization
import ExternalInput
import HTTPMessages
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  inspect(String(decoding: input, as: UTF8.self))
  let parts = input.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
  let header = parts.count > 1 ? Array(parts[0]) : Array(#"{"alg":"RS256"}"#.utf8)
  inspect("\(base64URL(header)).\(base64URL(Array(parts.last ?? []))).c2ln")
  _ = ExternalText(input)
  return 0
}

private func inspect(_ text: String) {
  let secret = Secret(text)
  let parts = text.split(separator: ".").filter { $0.count >= 24 }.map { String($0.prefix(24)) }
  for scope: AuthorizationContext.Scope in [
    .deliveryVehicle("v"), .vehicle("v"), .trip("v"), .task("v"), .trackingID("v"),
  ] {
    guard let context = AuthorizationContext(providerID: "p", scope: scope) else { return }
    var isFor: Bool?
    do throws(TokenFailure) {
      let claims = try TokenClaims(of: secret)
      isFor = true
      try claims.check(for: context)
    } catch {
      isFor = isFor.map { _ in false }
      precondition(!error.message.utf8.contains(10))
      precondition(!parts.contains { error.message.contains(text: $0) }, "a part of the token")
    }
    let inspection = TokenInspection(of: secret, for: context, at: Timestamp(seconds: 1_796_083_200))
    precondition((isFor == nil) == (inspection.claims == nil), "the two readings differ")
    let kinds = inspection.problems.map(\.kind)
    let isOther = kinds.contains { [.authorizationMissing, .claimMissing, .otherContext].contains($0) }
    if let isFor { precondition(isFor != isOther, "checked and inspected differently: \(kinds)") }
    for problem in inspection.problems {
      let text = problem.sentence.text
      precondition(!text.isEmpty && !text.utf8.contains(10) && text.count < 1500)
      precondition(!parts.contains { text.contains(text: $0) }, "a part of the token")
    }
  }
}

private func base64URL(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  var text: [UInt8] = []
  var (bits, count) = (0, 0)
  for byte in bytes {
    bits = (bits << 8 | Int(byte)) & 0xFFFF
    count += 8
    while count >= 6 {
      count -= 6
      text.append(alphabet[bits >> count & 63])
    }
  }
  if count > 0 { text.append(alphabet[bits << (6 - count) & 63]) }
  return String(decoding: text, as: UTF8.self)
}
