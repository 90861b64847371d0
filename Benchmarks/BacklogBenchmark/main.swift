// SPDX-License-Identifier: Apache-2.0
// Sends a backlog of 100,000 positions, a hundred with each request: CPU time in the core, without a network or a
// disk.
//   BENCH=1 swift run -c release BacklogBenchmark
import Authorization
import PositionBacklog
import Delivery
import FleetEngine
import Glibc
import HTTPMessages
import Positioning
import Timekeeping

func milliseconds(_ work: () -> Void) -> Double {
  func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) * 1e-6
  }
  let start = now()
  work()
  return now() - start
}

let count = 100_000
let start: Int64 = 1_795_249_800
let origin = Coordinate(latitude: 48.1, longitude: 11.5)

func location(_ second: Int64) -> VehicleLocation? {
  guard let coordinate = origin?.moved(by: Double(second) * 14, heading: 60) else { return nil }
  var location = VehicleLocation(coordinate: coordinate, time: Timestamp(seconds: start + second))
  location.altitude = 519.5
  location.speed = 13.89
  location.heading = 60
  location.horizontalAccuracy = 3.4
  return location
}

let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "bench", vehicleID: "truck-17")
let endpoint = FleetEngineEndpoint(origin: "https://fleetengine.googleapis.com", vehicle: vehicle)
let records = (0..<Int64(count)).compactMap { location($0) }.map { Backlog.Record($0) }
guard let context = vehicle.tokenContext, let newest = location(Int64(count)) else { exit(70) }
let token = AccessToken(
  secret: Secret("token"), context: context, receivedAt: .boot, lifetime: .seconds(86_400 * 30),
  lifetimeSource: .relative)

var backlog = Backlog()
let restoring = milliseconds { _ = backlog.restore(records, limit: count) }
let removing = milliseconds {
  while !backlog.isEmpty {
    let batch = backlog.sendable(before: newest.time, maxAge: .seconds(86_400 * 7)).prefix(100).map(\.id)
    _ = backlog.remove(batch, .delivered)
  }
}

var agent = DeliveryAgent(
  DeliveryAgent.Configuration(endpoint: endpoint, maxLocations: count, maxBytes: count * Backlog.recordSize), seed: 1)
_ = agent.handle(.restored(records), at: .boot)
var now = BootInstant.boot
var (requests, bytes) = (UInt64(0), 0)
let delivering = milliseconds {
  while !agent.backlog.isEmpty {
    now = now + .seconds(10)
    for case .send(_, let request) in agent.handle(.send(newest, isDue: false, token: token), at: now) {
      bytes += request.body.count
    }
    requests += 1
    _ = agent.handle(.ended(id: requests, .accepted), at: now)
  }
}
print(
  """
  {"positions": \(count), "requests": \(requests), "bytes": \(bytes), "restore_ms": \(restoring), \
  "drain_ms": \(removing), "drain_with_requests_ms": \(delivering)}
  """)
