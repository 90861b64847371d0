// SPDX-License-Identifier: Apache-2.0
// Feeds the JSON parser with inputs from libFuzzer. An accepted document must have the same value in
// FoundationEssentials, the reference, and after it was written and read again.
//
//   scripts/fuzz.sh 60 FuzzJSON
import JSON
import JSONTesting

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let hasMember = JSONReader.object(input, hasMember: "a")
  do throws(JSONError) {
    let value = try JSONValue(parsing: input)
    precondition(hasMember == value.object.map { $0["a"] != nil }, "two readings differ")
    precondition((try? JSONValue(parsing: value.encoded)) == value, "the written value is another one")
    precondition(!value.text.utf8.contains { $0 < 0x20 }, "a control character is shown")
    precondition(ReferenceJSON(parsing: input)?.agrees(with: value) == true, "the reference reads something else")
  } catch {
    precondition(hasMember == nil || error == .tooComplex || isOutOfRange(error, input), "half a document is accepted")
    if case .malformed(let offset) = error { precondition((0...input.count).contains(offset)) }
  }
  return 0
}

/// Whether the error is the range of a number, which is not validated when no value is created.
private func isOutOfRange(_ error: JSONError, _ input: [UInt8]) -> Bool {
  guard case .malformed(let offset) = error, offset < input.count else { return false }
  return input[offset] == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(input[offset])
}
