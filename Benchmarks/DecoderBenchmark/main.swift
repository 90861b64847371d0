// SPDX-License-Identifier: Apache-2.0
// Sentences per CPU-second of the NMEA decoder. With a file: that file, repeatedly. Without one: the stream of a
// receiver with four constellations at 1 Hz.
//   BENCH=1 swift run -c release DecoderBenchmark [FILE [SECONDS]]
//   BENCH=1 swift run -c release DecoderBenchmark --print     # that stream, for another program
import Positioning
import Glibc
import NMEA
import Timekeeping

func processorTime() -> Double {
  var time = timespec()
  unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

func contents(of path: String) -> [UInt8]? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = unsafe read(descriptor, &buffer, buffer.count)
    guard count > 0 else { return count == 0 ? bytes : nil }
    bytes += buffer[..<count]
  }
}

let arguments = CommandLine.arguments
if arguments.contains("--print") {
  var rest = SentenceStream.hour()[...]
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    guard count > 0 else { exit(74) }
    rest = rest.dropFirst(count)
  }
  exit(0)
}
let input: [UInt8]
if arguments.count > 1 {
  guard let bytes = contents(of: arguments[1]), !bytes.isEmpty else {
    print("\(arguments[1]): cannot be read, or is empty")
    exit(66)
  }
  input = bytes
} else {
  input = SentenceStream.hour()
}
let seconds = arguments.count > 2 ? Double(arguments[2]) ?? 3 : 3

var decoder = NMEADecoder()
var checksum = 0.0
let start = processorTime()
var elapsed = 0.0
repeat {
  // In portions, as a read from a port or a file returns them.
  var offset = 0
  while offset < input.count {
    let end = min(offset + 4096, input.count)
    decoder.decode(input.span.extracting(offset..<end), at: .boot) { checksum += $0.coordinate.latitude }
    offset = end
  }
  elapsed = processorTime() - start
} while elapsed < seconds
decoder.finish { checksum += $0.coordinate.latitude }
print("input \(input.count) bytes, \(elapsed) s of CPU, sum of latitudes \(checksum)")
print(decoder.counters)
print("sentences per CPU-second: \(Int(Double(decoder.counters.sentences) / elapsed))")
