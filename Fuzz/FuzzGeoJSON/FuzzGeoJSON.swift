// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning
import SimulatedDrives
import RouteFile
import Timekeeping

// scripts/fuzz.sh 60 FuzzGeoJSON

/// Reads any bytes as a GeoJSON file: a route that can be driven or an error, never a trap.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzGeoJSON(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: count))
  do throws(RouteFileError) {
    drive(try GeoJSONParser.parse(bytes, file: "f"), seed: UInt64(count))
  } catch {
    precondition(error.message.hasPrefix("f:") && !error.message.contains("\n"))
  }
  return 0
}

/// Drives a route for a minute, with its own timestamps or at a fixed speed.
private func drive(_ route: Route, seed: UInt64) {
  var settings = SimulationSettings()
  settings.seed = seed
  settings.noise = 2
  settings.loops = seed % 2 == 0
  settings.speed = seed % 3 == 0 ? 30 : nil
  settings.stops = route.waypoints.prefix(2).map { .init(.waypoint($0.name), dwell: .seconds(5)) }
  settings.tunnels = seed % 5 == 0 ? [.init(from: 50, length: 100)] : []
  do throws(SimulationError) {
    let simulator = try RouteSimulator(route: route, settings: settings)
    var writer = NMEAWriter()
    for second in [0, 1, 2, 5, 10, 30, 60, 3600, 86_400, Int64.max] {
      switch simulator.observation(at: .seconds(second), startingAt: Timestamp(seconds: 1_795_000_000)) {
      case .fix(let fix):
        precondition(fix.speed.map { $0 >= 0 && $0 < 1e9 } == true)
        writer.append(fix)
      case .noFix(let time): writer.appendVoid(at: time)
      case .ended: break
      }
    }
  } catch {
    precondition(!error.message.contains("\n"))
  }
}
