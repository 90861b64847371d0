// SPDX-License-Identifier: Apache-2.0

package import SimulatedDrives

/// A drive along a route.
package struct SimulatedSettings: Equatable, Sendable {
  /// Path of a GPX or GeoJSON file.
  package var route = ""
  /// How the route is driven, and the errors of the simulated receiver.
  package var drive = SimulationSettings()
}

extension SimulatedSettings: SourceSettings {
  static let type = "simulated"

  static let keys: [Setting<SimulatedSettings>] = [
    Setting(
      "route", \.route, .path, isRequired: true,
      "A GPX file with a track, a route or waypoints, or a GeoJSON file with a line."),
    Setting(
      "speed", \.drive.speed, DriveSettingTypes.speed,
      "Driving speed on a free road. Default: the times in the file determine speed and stops; `\"50 km/h\"` if the file has no times."
    ),
    Setting(
      "acceleration", \.drive.acceleration, .acceleration(0.1...20),
      "Maximum acceleration. This and the next two keys have no effect if the file's times are used."),
    Setting("braking", \.drive.braking, .acceleration(0.1...20), "Maximum deceleration."),
    Setting(
      "cornering", \.drive.lateralAcceleration, .acceleration(0.1...20),
      "Maximum lateral acceleration, which limits the speed in corners."),
    Setting(
      "pace", \.drive.pace, .number(0.1...20),
      "Speed factor: with 4 the simulated vehicle drives four times as fast and reports that speed; `filter.max_speed` limits the speed at factor 1."
    ),
    Setting(
      "head_start", \.drive.headStart, .duration(.zero...(.seconds(7 * 86_400))),
      "How far into the drive the vehicle starts, so that several vehicles on one route are apart."),
    Setting(
      "loop", \.drive.loops, .boolean,
      "`true`: at the end the vehicle drives straight back to the start and repeats the route. `false`: the source ends with the route, and the program when all sources have ended."
    ),
    Setting(
      "noise", \.drive.noise, DriveSettingTypes.noise,
      "Simulated error of positions, one sigma in each direction."),
    Setting(
      "seed", \.drive.seed, .integer(0...UInt64(Int64.max)),
      "Seed of the random errors; the same seed produces the same errors."),
    Setting(
      "clock_offset", \.drive.clockOffset, .offset(upTo: .seconds(365 * 86_400)),
      "How far the simulated receiver's clock is ahead; negative: behind."),
    Setting(
      "stops", \.drive.stops, .stops,
      "Stops: the distance along the route or the name of a waypoint in the file, and the duration. Added to the stops that the file marks (`<type>stop</type>`)."
    ),
    Setting(
      "tunnels", \.drive.tunnels, .stretches,
      "Stretches without a fix. Added to those that the file marks (`<type>tunnel</type>`)."),
    Setting(
      "canyons", \.drive.canyons, .canyons,
      "Urban canyons: stretches where reflections between high walls add noise; default 15 m. Added to those that the file marks (`<type>canyon</type>`)."
    ),
  ]

  var kind: SourceKind { .simulated(self) }
  var name: String { route }
  /// At a pace below 1 there is still one observation per second.
  var drivePace: Double { max(drive.pace, 1) }

  /// A drive with tunnels does not count as endless: in a tunnel it has no fix, and another source is used.
  var isEndless: Bool { drive.loops && drive.tunnels.isEmpty }
}
