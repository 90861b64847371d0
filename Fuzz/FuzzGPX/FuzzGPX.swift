// SPDX-License-Identifier: Apache-2.0
import SimulatedDrives
import RouteFile

// scripts/fuzz.sh 60 FuzzGPX

/// Reads any bytes as a GPX file in two pieces: a route or an error, never a trap; and the same result as in one piece.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzGPX(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: count))
  let cut = Int(bytes.first ?? 0) % (count + 1)
  let whole = points([bytes[...]])
  precondition(points([bytes[..<cut], bytes[cut...]]) == whole)
  return 0
}

/// Nil when it is not a route.
private func points(_ pieces: [ArraySlice<UInt8>]) -> [Route.Point]? {
  do throws(RouteFileError) {
    let parser = try GPXParser(file: "f")
    for piece in pieces { try parser.parse(piece) }
    return try parser.finish().points
  } catch {
    precondition(error.message.hasPrefix("f:") && !error.message.contains("\n"))
    return nil
  }
}
