// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import SimulatedDrives
import Timekeeping

/// The options of `fleet-locationctl simulate`.
struct SimulateOptions {
  enum Format: String, CaseIterable {
    case nmea
    case jsonl
  }

  static let options: [CommandLineOptions.Option] = [
    .init("format", takesValue: true), .init("speed", takesValue: true), .init("noise", takesValue: true),
    .init("seed", takesValue: true), .init("duration", takesValue: true), .init("start", takesValue: true),
    .init("pace", takesValue: true), .init("stop", takesValue: true), .init("tunnel", takesValue: true),
    .init("canyon", takesValue: true), .init("loop"),
  ]

  let route: String
  private(set) var format = Format.jsonl
  private(set) var settings = SimulationSettings()
  /// Nil for the whole route.
  private(set) var duration: Duration?
  /// Nil for now.
  private(set) var start: Timestamp?
  /// 1 is real time; 0 is as fast as the output is read. Otherwise at least 0.001.
  private(set) var pace = 0.0

  init(_ options: CommandLineOptions) throws(CommandError) {
    guard let route = options.operands.first else {
      throw CommandError(.usage, "simulate: ROUTE is missing (a GPX or GeoJSON file)")
    }
    guard options.operands.count == 1 else {
      throw CommandError(.usage, "simulate: only one ROUTE is allowed; unexpected \"\(options.operands[1])\"")
    }
    self.route = route
    settings.loops = false
    for (name, value) in options.given {
      do throws(QuantityOption.Mistake) {
        try apply(name, value)
      } catch {
        throw CommandError(.usage, "simulate: --\(name): \(error.message)")
      }
    }
  }

  private mutating func apply(_ name: String, _ value: String) throws(QuantityOption.Mistake) {
    switch name {
    case "format":
      guard let format = Format(rawValue: value) else {
        throw QuantityOption.Mistake(message: "\"\(value)\" is not a format; allowed: nmea, jsonl")
      }
      self.format = format
    case "speed": settings.speed = try QuantityOption.speed(value)
    case "noise": settings.noise = try QuantityOption.noise(value)
    case "seed":
      guard let seed = UInt64(value) else {
        throw QuantityOption.Mistake(message: "\"\(value)\" is not a whole number of 0 or more")
      }
      settings.seed = seed
    case "duration": duration = try QuantityOption.duration(value, .seconds(1)...(.seconds(366 * 86_400)))
    case "start":
      guard let start = Timestamp(rfc3339: value) else {
        throw QuantityOption.Mistake(message: "\"\(value)\" is not a time as in 2026-11-21T08:30:00Z")
      }
      self.start = start
    case "pace":
      let isDecimal = value.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
      guard isDecimal, let pace = Double(value), pace == 0 || (0.001...1000).contains(pace) else {
        throw QuantityOption.Mistake(message: "\"\(value)\" is not a number from 0.001 to 1000, or 0")
      }
      self.pace = pace
    case "stop":
      let parts = try Self.parts(value, 2...2, example: "1.2 km,90s")
      let dwell = try QuantityOption.dwell(parts[1])
      // If it is not a distance, it is the name of a waypoint.
      let metres = try? QuantityOption.routeDistance(parts[0])
      settings.stops.append(.init(metres.map { .distance($0) } ?? .waypoint(parts[0]), dwell: dwell))
    case "tunnel": settings.tunnels.append(try Self.stretch(Self.parts(value, 2...2, example: "2 km,400 m")))
    case "canyon":
      let parts = try Self.parts(value, 2...3, example: "3 km,500 m,15 m")
      var canyon = SimulationSettings.Canyon(try Self.stretch(parts))
      if parts.count > 2 { canyon.noise = try QuantityOption.noise(parts[2]) }
      settings.canyons.append(canyon)
    case "loop": settings.loops = true
    default: break
    }
  }

  private static func parts(
    _ value: String, _ counts: ClosedRange<Int>, example: String
  ) throws(QuantityOption.Mistake) -> [String] {
    let parts = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard counts.contains(parts.count) else {
      throw QuantityOption.Mistake(message: "\"\(value)\" does not have the form \"\(example)\"")
    }
    return parts
  }

  private static func stretch(_ parts: [String]) throws(QuantityOption.Mistake) -> SimulationSettings.Stretch {
    SimulationSettings.Stretch(
      from: try QuantityOption.routeDistance(parts[0]), length: try QuantityOption.length(parts[1]))
  }
}
