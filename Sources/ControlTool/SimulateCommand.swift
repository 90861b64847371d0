// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import EventLoop
import NMEA
import RecordingReview
import SimulatedDrives
import RouteFile
import Timekeeping

/// `fleet-locationctl simulate ROUTE`: a simulated drive, printed as a receiver would report it.
enum SimulateCommand: Command {
  static let name = "simulate"
  static let summary = "simulate a drive along a route, and print its fixes"
  static let options = SimulateOptions.options
  static let usage = """
    Usage: fleet-locationctl simulate ROUTE [OPTION]...
    Simulates a drive along ROUTE (GPX or GeoJSON) and prints one fix per second. If the route has times, they determine
    speed and stops, unless --speed is given. The same route, options and --start print the same bytes.

      --format FORMAT     jsonl (the default), as the command "fixes" prints, or nmea (NMEA 0183 sentences)
      --speed SPEED       driving speed, as in "50 km/h"
      --noise DISTANCE    error of positions, one sigma (default "2 m")
      --seed N            seed of the random errors (default 1)
      --start TIME        start of the drive, as in 2026-11-21T08:30:00Z (default: now)
      --duration TIME     maximum duration, as in "10min"
      --loop              repeat the route endlessly
      --pace N            1 prints in real time, 2 twice as fast (0.001 to 1000), 0 (the default) at once
      --stop PLACE,TIME   stop at a distance along the route or at a waypoint, as in "1.2 km,90s"
      --tunnel FROM,LENGTH
                          stretch without a fix, as in "2 km,400 m"
      --canyon FROM,LENGTH[,NOISE]
                          stretch with larger errors, as in "3 km,500 m,15 m"
    The last three may be given more than once.

    Exit status: 0 if the drive is over or the output was closed, 65 if ROUTE is not a route or a PLACE is not on it, 66
    if ROUTE cannot be opened, 74 if writing failed.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let options = try SimulateOptions(options)
    let simulator: RouteSimulator
    do {
      let route = try RouteFile.load(path: options.route)
      simulator = try RouteSimulator(route: route, settings: options.settings)
    } catch let error as RouteFileError {
      throw CommandError(error.code == .unreadable ? .noInput : .data, error.message)
    } catch {
      throw CommandError(.data, "\(options.route): \(error)")
    }
    let loop: EventLoop
    do {
      loop = try EventLoop()
    } catch {
      throw CommandError(.io, "\(error)")
    }
    let drive = SimulatedDrive(
      simulator, format: options.format, start: options.start ?? loop.now.wall, duration: options.duration)
    if options.pace == 0 {
      while drive.advance(), try drive.flush(atLeast: 65_536) {}
      _ = try drive.flush(atLeast: 1)
      return 0
    }
    return try keepPace(drive, options.pace, on: loop)
  }

  private static func keepPace(_ drive: SimulatedDrive, _ pace: Double, on loop: EventLoop) throws(CommandError)
    -> Int32
  {
    let begin = loop.now.boot
    var failure: CommandError?
    var timer: LoopTimer?
    do {
      timer = try loop.makeTimer {
        do throws(CommandError) {
          guard drive.advance(), try drive.flush(atLeast: 1) else { return loop.exit(0) }
        } catch {
          failure = error
          return loop.exit(0)
        }
        timer?.arm(at: begin + .milliseconds(Int64(Double(drive.second) * 1000 / pace)))
      }
      timer?.arm(at: begin)
      _ = try loop.run()
    } catch {
      throw CommandError(.io, "\(error)")
    }
    timer?.close()
    if let failure { throw failure }
    return 0
  }
}

/// Writes a simulated drive to standard output.
private final class SimulatedDrive {
  /// The next second of the drive.
  private(set) var second: Int64 = 0
  private let simulator: RouteSimulator
  private let start: Timestamp
  private let duration: Duration?
  private var lines = FixLineWriter(source: "simulated")
  private var sentences = NMEAWriter()
  private let format: SimulateOptions.Format

  init(_ simulator: RouteSimulator, format: SimulateOptions.Format, start: Timestamp, duration: Duration?) {
    self.simulator = simulator
    self.format = format
    self.start = start
    self.duration = duration
  }

  /// Simulates the next second of the drive.
  ///
  /// - Returns: false when the drive is over.
  func advance() -> Bool {
    if let duration, .seconds(second) >= duration { return false }
    switch (simulator.observation(at: .seconds(second), startingAt: start), format) {
    case (.ended, _): return false
    case (.fix(let fix), .nmea): sentences.append(fix)
    case (.fix(let fix), .jsonl): lines.append(fix)
    case (.noFix(let time), .nmea): sentences.appendVoid(at: time)
    case (.noFix, .jsonl): break
    }
    second += 1
    return true
  }

  /// Writes the buffered bytes, if there are at least this many.
  ///
  /// - Returns: false if the reader has closed the pipe.
  func flush(atLeast least: Int) throws(CommandError) -> Bool {
    let bytes = format == .nmea ? sentences.bytes : lines.bytes
    guard bytes.count >= least else { return true }
    sentences.bytes.removeAll(keepingCapacity: true)
    lines.bytes.removeAll(keepingCapacity: true)
    return try StandardOutput.write(bytes)
  }
}
