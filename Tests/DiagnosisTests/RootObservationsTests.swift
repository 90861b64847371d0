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
    let view = RootObservations(status)
    guard let pipe = view.pipe else { return expect(Bool(false)) }
    let first = RootObservations.read(from: pipe)
    let second = RootObservations.read(from: pipe)
    expectEqual(first, view)
    expectNil(second)
  }

  @Test("a view that does not fit into a pipe is not passed")
  func tooLong() {
    var status = ServiceStatus(unit: "fleet-locationd.service")
    status.text = String(repeating: "x", count: 2_000_000)
    if let pipe = RootObservations(status).pipe { Issue.record("descriptor \(pipe.rawValue)") }
  }
}
