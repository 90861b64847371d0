// SPDX-License-Identifier: Apache-2.0

package import Positioning

/// A drive along a route.
package struct SimulatedSettings: Equatable, Sendable {
  /// Path of a GPX or GeoJSON file.
  package var route = ""
  /// How the route is driven, and what the simulated receiver makes of it.
  package var drive = SimulationSettings()
}

extension SimulatedSettings: SourceSettings {
  static let type = "simulated"

  static let keys: [Setting<SimulatedSettings>] = [
    Setting(
      "route", \.route, .path, isRequired: true,
      "A GPX file with a track, a route or waypoints, or a GeoJSON file with a line."),
    Setting(
      "speed", \.drive.speed, DriveKinds.speed,
      "How fast it is driven where nothing is in the way. If it is not written: by the times in the file, stops and all; `\"50 km/h\"` when it has none."
    ),
    Setting(
      "acceleration", \.drive.acceleration, .acceleration(0.1...20),
      "How hard it speeds up; as are the next two, without meaning when the file's times are followed."),
    Setting("braking", \.drive.braking, .acceleration(0.1...20), "How hard it brakes."),
    Setting(
      "cornering", \.drive.lateral, .acceleration(0.1...20),
      "How much it is pushed sideways in a corner, which limits the speed there."),
    Setting(
      "pace", \.drive.pace, .number(0.1...20),
      "How many seconds of the drive pass in one: with 4 the vehicle gets on four times as fast, and says so; `filter.max_speed` has to allow for that."
    ),
    Setting(
      "head_start", \.drive.headStart, .duration(.zero...(.seconds(7 * 86_400))),
      "How long the vehicle has been under way at the start, so that several do not drive in one place."),
    Setting(
      "loop", \.drive.loops, .boolean,
      "Whether to drive on from the end straight back to the start, again and again; else the program ends at the end."),
    Setting(
      "noise", \.drive.noise, DriveKinds.noise,
      "How far positions drift around the route (one sigma in each direction)."),
    Setting(
      "seed", \.drive.seed, .integer(0...UInt64(Int64.max)), "The same seed scatters the same way every time."),
    Setting(
      "clock_offset", \.drive.clockOffset, .offset(upTo: .seconds(365 * 86_400)),
      "How far the receiver's clock is ahead; with a minus, behind."),
    Setting(
      "stops", \.drive.stops, .stops,
      "Where it stands, by distance along the route or by the name of a waypoint in the file, and how long. With those that the file marks (`<type>stop</type>`)."
    ),
    Setting(
      "tunnels", \.drive.tunnels, .stretches,
      "Where there is no fix. With those that the file marks (`<type>tunnel</type>`)."),
    Setting(
      "canyons", \.drive.canyons, .canyons,
      "Where echoes between high walls add noise, 15 m if it is not written. With those that the file marks (`<type>canyon</type>`)."
    ),
  ]

  var kind: SourceKind { .simulated(self) }
  var name: String { route }

  /// A tunnel would let another source take over.
  var isEndless: Bool { drive.loops && drive.tunnels.isEmpty }
}
