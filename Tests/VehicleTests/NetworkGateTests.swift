// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Expectations
import Testing
import Timekeeping

@testable import Vehicle

struct NetworkGateTests {
  private var gate = NetworkGate()

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  /// A network whose address and default route use this link.
  private func network(_ link: Int32) -> NetworkState {
    var state = NetworkState()
    state.addresses = [NetworkTable.Address(link: link, family: .ipv4, bytes: [10, 0, 0, UInt8(link)])]
    state.routes = [
      NetworkTable.Route(family: .ipv4, links: [link], gateway: [10, 0, 0, 1], priority: 0)
    ]
    return state
  }

  private mutating func update(_ state: NetworkState, at second: Int) -> NetworkGate.Change {
    gate.update(state, isNeeded: true, at: at(second))
  }

  @Test("while the network's state is unknown, attempts are not suppressed")
  func unknown() {
    expect(!gate.isAbsent && gate.earliest == .boot)
  }

  @Test("without a network one attempt is made at the start, then one every three minutes")
  mutating func absentAtStart() {
    expectEqual(update(NetworkState(), at: 1), .lost)
    expect(gate.absentSince == at(1) && gate.earliest == at(1))
    gate.failed(at: at(2))
    expectEqual(gate.earliest, at(182))
    gate.failed(at: at(190))
    expectEqual(gate.earliest, at(370))
  }

  @Test("loss of the network suppresses attempts for three minutes, or until the network returns")
  mutating func lostAndBack() {
    expectEqual(update(network(2), at: 0), .none)
    expectEqual(update(NetworkState(), at: 10), .lost)
    expectEqual(gate.earliest, at(190))
    expectEqual(update(NetworkState(), at: 12), .none)
    expectEqual(update(network(2), at: 40), .back(after: .seconds(30)))
    expect(!gate.isAbsent && gate.earliest == .boot)
  }

  @Test("a different address or route is a change of network; an unchanged state is not")
  mutating func moved() {
    _ = update(network(2), at: 0)
    expectEqual(update(network(2), at: 1), .none)
    expectEqual(update(network(3), at: 2), .pathChanged)
    expect(!gate.isAbsent)
  }

  @Test("a response without a visible network ends the suppression, until an attempt fails")
  mutating func provenWrong() {
    _ = update(NetworkState(), at: 0)
    gate.reached()
    expect(!gate.isAbsent && gate.earliest == .boot)
    expectEqual(update(NetworkState(), at: 5), .none)
    expect(!gate.isAbsent)
    gate.failed(at: at(10))
    expect(gate.absentSince == at(10) && gate.earliest == at(190))
  }

  @Test("after a visible network is lost, attempts are suppressed despite an earlier response without a network")
  mutating func provenWrongIsForgotten() {
    _ = update(NetworkState(), at: 0)
    gate.reached()
    _ = update(network(2), at: 5)
    expectEqual(update(NetworkState(), at: 10), .lost)
    expectEqual(gate.earliest, at(190))
  }

  @Test("while there is a network, neither failures nor responses suppress attempts")
  mutating func present() {
    _ = update(network(2), at: 0)
    gate.failed(at: at(1))
    gate.reached()
    expect(!gate.isAbsent && gate.earliest == .boot)
  }

  @Test("if no network is needed, its absence is ignored")
  mutating func notNeeded() {
    _ = update(NetworkState(), at: 0)
    expect(gate.isAbsent)
    expectEqual(gate.update(NetworkState(), isNeeded: false, at: at(1)), .none)
    expect(!gate.isAbsent)
  }
}
