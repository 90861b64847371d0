// SPDX-License-Identifier: Apache-2.0
// Feeds the netlink decoder and the network survey with inputs from libFuzzer, as one datagram and cut in two.
//
//   scripts/fuzz.sh 60 FuzzNetlink
import Connectivity
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let messages = NetlinkMessage.decode(input).map(\.message)
  precondition(messages.count <= count / 16)
  var table = NetworkTable()
  for message in messages { table.add(message) }
  // What has been added is known, unless a later message changed it.
  if let last = messages.last, case .address = last { precondition(!table.isChange(last)) }
  check(table.state)

  let split = count == 0 ? 0 : Int(input[0]) * count / 256
  var survey = NetworkSurvey()
  var now = BootInstant.boot
  var requests = survey.handle(.start, at: now).count
  for datagram in [input, Array(input[..<split]), Array(input[split...]), input] {
    let effects = survey.handle(.received(datagram), at: now)
    requests += effects.count
    for case .state(let state) in effects { check(state) }
    // Whatever the kernel reports, the survey continues its requests, but not endlessly.
    if let deadline = survey.nextDeadline {
      precondition(deadline > now && deadline - now <= NetworkSurvey.dumpTimeout)
      now = deadline
      let later = survey.handle(.deadline, at: now)
      precondition(later.count == 1)
      requests += 1
    }
  }
  precondition(requests <= 1 + 4 * (count / 16 + 2))
  return 0
}

private func check(_ state: NetworkState) {
  precondition(!state.mayInvalidateConnections(of: state))
  precondition(state.isUsable == !state.routes.isEmpty)
  precondition(state.routes.allSatisfy { way in state.addresses.contains { $0.family == way.family } })
}
