// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Makes `Settings` of what the reader reads, and checks what no key can check alone.
struct SettingsBuilder {
  var reader: SettingsReader
  let environment: ConfigurationEnvironment
  /// Where relative paths begin; empty is the working directory.
  let directory: String

  init(reader: SettingsReader, environment: ConfigurationEnvironment, directory: String) {
    self.reader = reader
    self.environment = environment
    self.directory = directory
  }

  /// The settings and the warnings. Every part is read before the first problem is thrown.
  mutating func build() throws(ConfigurationError) -> (Settings, [Diagnostic]) {
    reader.checkNames()
    let vehicle = vehicle()
    let sources = sources()
    let token = token()
    let fleetEngine = fleetEngine()
    let reporting = reporting(endpoint: fleetEngine?.endpoint)
    let filter = filter()
    let backlog = backlog()
    let log = log()
    let metrics = metrics()
    reader.sort()
    guard reader.problems.isEmpty, let vehicle, let sources, let token, let fleetEngine, let reporting, let filter,
      let backlog, let log
    else {
      throw ConfigurationError(code: .invalid, diagnostics: reader.problems, warnings: reader.warnings)
    }
    let settings = Settings(
      vehicle: vehicle, sources: sources, token: token, fleetEngine: fleetEngine, reporting: reporting, filter: filter,
      backlog: backlog, log: log, metrics: metrics)
    return (settings, reader.warnings)
  }

  private mutating func vehicle() -> Settings.Vehicle? {
    let provider = reader.read(SettingKeys.providerID)
    var vehicle: String?
    if let source = reader.read(SettingKeys.vehicleID) {
      do throws(ValueProblem) {
        vehicle = try source.resolve(in: environment, directory: directory)
      } catch {
        reader.problem(with: SettingKeys.vehicleID, error.message)
      }
    }
    guard let provider, let vehicle else { return nil }
    return Settings.Vehicle(providerID: provider, vehicleID: vehicle)
  }

  private mutating func fleetEngine() -> Settings.FleetEngine? {
    let (endpoint, field) = (reader.read(SettingKeys.endpoint), reader.read(SettingKeys.positionField))
    let (deadline, caFile) = (reader.read(SettingKeys.deadline), pemFile(SettingKeys.caFile))
    let proxy = reader.read(SettingKeys.proxy)
    guard let endpoint, let field, let deadline else { return nil }
    return Settings.FleetEngine(
      endpoint: endpoint, positionField: field, deadline: deadline, caFile: caFile, proxy: proxy)
  }

  /// - Parameter endpoint: nil when it is wrong; then the rules that depend on it are left for the next run.
  private mutating func reporting(endpoint: String?) -> Settings.Reporting? {
    let (interval, written) = (reader.read(SettingKeys.interval), reader.read(SettingKeys.heartbeat))
    let (stop, distance) = (reader.read(SettingKeys.stopTimeout), reader.read(SettingKeys.distance))
    let (heading, drain) = (reader.read(SettingKeys.heading), reader.read(SettingKeys.drainTimeout))
    guard let interval, let written, let stop, let drain, let distance, let heading else { return nil }
    var heartbeat = written
    if !reader.isWritten(SettingKeys.heartbeat), interval > heartbeat { heartbeat = interval }
    let isLoopback = endpoint.map(SettingsBuilder.isLoopback) ?? true
    if interval < .seconds(5), !isLoopback {
      reader.problem(
        with: SettingKeys.interval,
        "is under 5s, which Fleet Engine does not take; allowed: 5s to 60s (less only with an endpoint on loopback)")
    }
    if heartbeat < interval {
      reader.problem(
        with: SettingKeys.heartbeat,
        "is shorter than the interval, \(Quantity.text(interval)); allowed: \(Quantity.text(interval)) to 50s")
    } else if heartbeat > .seconds(50), heartbeat > interval {
      reader.problem(
        with: SettingKeys.heartbeat,
        "is over 50s: with the time that a request takes, gaps would pass the minute after which a vehicle counts as lost"
      )
    } else if heartbeat < .seconds(5), !isLoopback {
      reader.problem(with: SettingKeys.heartbeat, "is under 5s, which Fleet Engine does not take; allowed: 5s to 50s")
    }
    if interval > .seconds(50) {
      reader.warning(
        about: SettingKeys.interval, "is over 50s: with the time that a request takes, gaps may pass a minute")
    }
    return Settings.Reporting(
      interval: interval, heartbeat: heartbeat, stopTimeout: stop, drainTimeout: drain, distance: distance,
      heading: heading)
  }

  private mutating func filter() -> Settings.Filter? {
    let (accuracy, speed) = (reader.read(SettingKeys.maxAccuracy), reader.read(SettingKeys.maxSpeed))
    let (satellites, hdop) = (reader.read(SettingKeys.minSatellites), reader.read(SettingKeys.maxHDOP))
    let age = reader.read(SettingKeys.maxFixAge)
    guard let accuracy, let speed, let satellites, let hdop, let age else { return nil }
    return Settings.Filter(
      maxAccuracy: accuracy, maxSpeed: speed, minSatellites: satellites, maxHDOP: hdop, maxAge: age)
  }

  private mutating func backlog() -> Settings.Backlog? {
    let (locations, age) = (reader.read(SettingKeys.maxLocations), reader.read(SettingKeys.maxBacklogAge))
    let (batch, size) = (reader.read(SettingKeys.batch), reader.read(SettingKeys.maxSize))
    let interval = reader.read(SettingKeys.commitInterval)
    let directory = path(SettingKeys.backlogDirectory) ?? stateDirectory
    guard let locations, let age, let batch, let size, let interval else { return nil }
    return Settings.Backlog(
      maxLocations: locations, maxAge: age, batch: batch, directory: directory, maxSize: size,
      commitInterval: interval)
  }

  /// The first of those that systemd made for the service.
  private var stateDirectory: String? {
    guard let directory = environment.variable("STATE_DIRECTORY")?.split(separator: ":").first else { return nil }
    return String(directory)
  }

  private mutating func log() -> Settings.Log? {
    let (level, positions) = (reader.read(SettingKeys.level), reader.read(SettingKeys.positions))
    guard let level, let positions else { return nil }
    return Settings.Log(level: level, positions: positions)
  }

  private mutating func metrics() -> Settings.Metrics {
    let textfile = path(SettingKeys.metricsTextfile)
    if let textfile, !textfile.hasSuffix(".prom") {
      reader.problem(
        with: SettingKeys.metricsTextfile,
        "\(textfile.printable) does not end in .prom; the collector reads no other file")
    }
    return Settings.Metrics(textfile: textfile)
  }

  mutating func path(_ key: SettingKey<String>) -> String? {
    reader.read(key)?.relativePath(in: directory)
  }

  /// The path of a file that has to be there, and to look like PEM: libcurl would find out with the first request only,
  /// when nobody watches.
  mutating func pemFile(_ key: SettingKey<String>) -> String? {
    guard let path = path(key) else { return nil }
    do throws(ConfigurationEnvironment.FileProblem) {
      let bytes = try environment.readFile(path, SettingsBuilder.largestPEM)
      if !String(decoding: bytes, as: UTF8.self).contains("-----BEGIN ") {
        reader.problem(with: key, "\(path.printable) is not a PEM file: it holds no line -----BEGIN …-----")
      }
    } catch {
      reader.problem(with: key, "\(path.printable) \(error.explanation); a PEM file is expected")
    }
    return path
  }

  /// Bytes; the bundle of all the world's authorities is a fifth of it.
  private static let largestPEM = 1_000_000

  private static func isLoopback(_ endpoint: String) -> Bool {
    (try? WebAddress.parse(endpoint, schemes: ["https", "http"]).isLoopback) ?? false
  }
}
