// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import SystemCalls
import Testing

struct DescriptorTests {
  @Test("a writer that waits writes all data to a nonblocking pipe; one that does not reports that some was dropped")
  func nonblocking() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
    let (reader, writer) = (FileHandle(fileDescriptor: ends[0], closeOnDealloc: true), ends[1])
    try #require(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
    // More than a pipe holds.
    let data = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    #expect(throws: Errno(EAGAIN)) { try Descriptor.write(data, to: writer) }
    let held = reader.availableData
    expectEqual(held, Data(data.prefix(held.count)))
    let directory = try TemporaryDirectory()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "sleep 0.2; exec cat >\"$0\"", directory("received")]
    process.standardInput = reader
    try process.run()
    try Descriptor.write(data, to: writer, waits: true)
    close(writer)
    process.waitUntilExit()
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: directory("received"))).suffix(data.count), Data(data))
  }
}
