// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Expectations
import Testing
import Timekeeping

@testable import Vehicle

struct NetworkGateTests {
  private var gate = NetworkGate()

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  /// A network through this link.
  private func network(_ link: Int32) -> NetworkState {
    var state = NetworkState()
    state.addresses = [NetworkTable.Address(link: link, family: .ipv4, bytes: [10, 0, 0, UInt8(link)])]
    state.routes = [
      NetworkTable.Route(family: .ipv4, links: [link], gateway: [10, 0, 0, 1], priority: 0)
    ]
    return state
  }

  private mutating func take(_ state: NetworkState, at second: Int) -> NetworkGate.Change {
    gate.update(state, isNeeded: true, at: at(second))
  }

  @Test("as long as the network's state is unknown, nothing is suppressed")
  func unknown() {
    expect(!gate.isAbsent && gate.earliest == .boot)
  }

  @Test("without a network one attempt is made at the start, then one every three minutes")
  mutating func absentAtStart() {
    expectEqual(take(NetworkState(), at: 1), .lost)
    expect(gate.absentSince == at(1) && gate.earliest == at(1))
    gate.failed(at: at(2))
    expectEqual(gate.earliest, at(182))
    gate.failed(at: at(190))
    expectEqual(gate.earliest, at(370))
  }

  @Test("loss of the network suppresses attempts for three minutes, and its return ends that at once")
  mutating func lostAndBack() {
    expectEqual(take(network(2), at: 0), .none)
    expectEqual(take(NetworkState(), at: 10), .lost)
    expectEqual(gate.earliest, at(190))
    expectEqual(take(NetworkState(), at: 12), .none)
    expectEqual(take(network(2), at: 40), .back(after: .seconds(30)))
    expect(!gate.isAbsent && gate.earliest == .boot)
  }

  @Test("another address or route is a change of network, the same ones are not")
  mutating func moved() {
    _ = take(network(2), at: 0)
    expectEqual(take(network(2), at: 1), .none)
    expectEqual(take(network(3), at: 2), .moved)
    expect(!gate.isAbsent)
  }

  @Test("a response without a visible network proves the kernel's view incomplete, until an attempt fails")
  mutating func provenWrong() {
    _ = take(NetworkState(), at: 0)
    gate.reached()
    expect(!gate.isAbsent && gate.earliest == .boot)
    expectEqual(take(NetworkState(), at: 5), .none)
    expect(!gate.isAbsent)
    gate.failed(at: at(10))
    expect(gate.absentSince == at(10) && gate.earliest == at(190))
  }

  @Test("a response without a visible network proves nothing after a network was visible and lost")
  mutating func provenWrongIsForgotten() {
    _ = take(NetworkState(), at: 0)
    gate.reached()
    _ = take(network(2), at: 5)
    expectEqual(take(NetworkState(), at: 10), .lost)
    expectEqual(gate.earliest, at(190))
  }

  @Test("while there is a network, neither a failure nor a response suppresses anything")
  mutating func present() {
    _ = take(network(2), at: 0)
    gate.failed(at: at(1))
    gate.reached()
    expect(!gate.isAbsent && gate.earliest == .boot)
  }

  @Test("where no network is needed, none is missing")
  mutating func notNeeded() {
    _ = take(NetworkState(), at: 0)
    expect(gate.isAbsent)
    expectEqual(gate.update(NetworkState(), isNeeded: false, at: at(1)), .none)
    expect(!gate.isAbsent)
  }
}
