// SPDX-License-Identifier: Apache-2.0
import Expectations
import MessageBus
import SystemCalls
import Testing

@testable import Diagnosis

/// The data that root passes to the process that runs as the service.
struct RootObservationsTests {
  @Test("the state of the service is passed through a pipe unchanged, and can be read once", arguments: [0, 100_000])
  func handedOver(length: Int) {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    status.text = String(repeating: "x", count: length)
    let observations = RootObservations(status)
    guard let pipe = observations.makePipe() else { return expect(Bool(false)) }
    let first = RootObservations.read(from: pipe)
    let second = RootObservations.read(from: pipe)
    expectEqual(first, observations)
    expectNil(second)
  }

  @Test("observations that do not fit into a pipe are not passed")
  func tooLong() {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    status.text = String(repeating: "x", count: 2_000_000)
    if let pipe = RootObservations(status).makePipe() { Issue.record("descriptor \(pipe.rawValue)") }
  }
}
