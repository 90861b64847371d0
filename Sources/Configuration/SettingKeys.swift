// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Every setting there is. Parsing, the hints in error messages and `docs/settings.md` are all made from this table.
enum SettingKeys {
  static let providerID = SettingKey(
    .vehicle, "provider_id", .identifier, .required, "The Google Cloud project ID that Fleet Engine is enabled in.")
  static let vehicleID = SettingKey(
    .vehicle, "vehicle_id", .vehicleID, .required,
    "The ID of the delivery vehicle, as the backend created it; or where on the machine it stands.")

  static let sourceType = SettingKey(
    .source, "type", .choice() as SettingKind<SourceType>, .required,
    "A serial receiver, the receivers of a gpsd, a drive along a route, or a recording.")
  static let silenceTimeout = SettingKey(
    .source, "silence_timeout", .duration(.seconds(2)...(.seconds(600))), .value(.string("10s")),
    "A source that says nothing for so long is closed and opened again. Of several, one without a believable position for so long gives way to the next."
  )
  static let device = SettingKey(
    .source, "device", .device, .required, for: .serial, "The receiver's device, best under `/dev/serial/by-id/`.")
  static let baud = SettingKey(
    .source, "baud",
    .baud(oneOf: [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600]),
    .value(.integer(9600)), for: .serial,
    "The receiver's speed in bits per second. With `\"auto\"` each is tried until sentences have the right checksum, the one that was right last first."
  )
  static let address = SettingKey(
    .source, "address", .gpsdAddress, .value(.string("localhost:2947")), for: .gpsd,
    "Where gpsd listens, and after another colon the only receiver of its that counts.")
  static let gpsdDevice = SettingKey(
    .source, "device", .text, .none, for: .gpsd,
    "The only receiver that counts, as gpsd names it. Without one, the first that gives fixes is stayed with until it gives none for the `silence_timeout`."
  )
  static let route = SettingKey(
    .source, "route", .path, .required, for: .simulated,
    "A GPX file with a track, a route or waypoints, or a GeoJSON file with a line.")
  static let speed = SettingKey(
    .source, "speed", .speed(0.1...500), .none, for: .simulated,
    "How fast it is driven where nothing is in the way. If it is not written: by the times in the file, stops and all; `\"50 km/h\"` when it has none."
  )
  static let acceleration = SettingKey(
    .source, "acceleration", .acceleration(0.1...20), .value(.string("1.5 m/s²")), for: .simulated,
    "How hard it speeds up; as are the next two, without meaning when the file's times are followed.")
  static let braking = SettingKey(
    .source, "braking", .acceleration(0.1...20), .value(.string("2 m/s²")), for: .simulated, "How hard it brakes.")
  static let cornering = SettingKey(
    .source, "cornering", .acceleration(0.1...20), .value(.string("2 m/s²")), for: .simulated,
    "How much it is pushed sideways in a corner, which limits the speed there.")
  static let drivePace = SettingKey(
    .source, "pace", .number(0.1...20), .value(.integer(1)), for: .simulated,
    "How many seconds of the drive pass in one: with 4 the vehicle gets on four times as fast, and says so; `filter.max_speed` has to allow for that."
  )
  static let headStart = SettingKey(
    .source, "head_start", .duration(.zero...(.seconds(7 * 86_400))), .value(.string("0s")), for: .simulated,
    "How long the vehicle has been under way at the start, so that several do not drive in one place.")
  static let loop = SettingKey(
    .source, "loop", .boolean, .value(.boolean(true)), for: .simulated,
    "Whether to drive on from the end straight back to the start, again and again; else the program ends at the end.")
  static let noise = SettingKey(
    .source, "noise", .distance(0...1000), .value(.string("2 m")), for: .simulated,
    "How far positions drift around the route (one sigma in each direction).")
  static let seed = SettingKey(
    .source, "seed", .integer(0...Int.max), .value(.integer(1)), for: .simulated,
    "The same seed scatters the same way every time.")
  static let clockOffset = SettingKey(
    .source, "clock_offset", .offset(upTo: .seconds(365 * 86_400)), .value(.string("0s")), for: .simulated,
    "How far the receiver's clock is ahead; with a minus, behind.")
  static let stops = SettingKey(
    .source, "stops", .stops, .none, for: .simulated,
    "Where it stands, by distance along the route or by the name of a waypoint in the file, and how long. With those that the file marks (`<type>stop</type>`)."
  )
  static let tunnels = SettingKey(
    .source, "tunnels", .stretches, .none, for: .simulated,
    "Where there is no fix. With those that the file marks (`<type>tunnel</type>`).")
  static let canyons = SettingKey(
    .source, "canyons", .canyons, .none, for: .simulated,
    "Where echoes between high walls add noise, 15 m if it is not written. With those that the file marks (`<type>canyon</type>`)."
  )
  static let file = SettingKey(
    .source, "file", .path, .required, for: .replay,
    "A recording of NMEA 0183, a file or FIFO; `\"-\"` is standard input.")
  static let pace = SettingKey(
    .source, "pace", .number(0...1000), .value(.integer(1)), for: .replay,
    "1 is the recording's own speed, 2 twice as fast, 0 as fast as positions are delivered.")
  static let time = SettingKey(
    .source, "time", .choice() as SettingKind<Settings.Source.Replay.Time>, .none, for: .replay,
    "Whether the recording's times are shifted to now or kept. If it is not written: `\"keep\"` with `pace = 0`, else `\"shift\"`."
  )

  static let provider = SettingKey(
    .token, "provider", .choice() as SettingKind<TokenProvider>, .value(.string("http")),
    "Who gives tokens: a URL, a program that is run, or a file that another program keeps up to date.")
  static let url = SettingKey(
    .token, "url", .urlTemplate, .required, of: .http,
    "Where tokens are asked for. IDs are percent-encoded where they are filled in. A redirect is not followed.")
  static let method = SettingKey(
    .token, "method", .choice() as SettingKind<Settings.Token.Method>, .value(.string("GET")), of: .http,
    "How the URL is asked.")
  static let body = SettingKey(
    .token, "body", .template, .none, of: .http,
    "The body of a POST. IDs are filled in as JSON strings without their quotes.")
  static let headers = SettingKey(
    .token, "headers", .headers, .none, of: .http,
    "Headers of the request. A credential is one that systemd gives to the service (`LoadCredential=`).")
  static let command = SettingKey(
    .token, "command", .commandTemplate, .required, of: .command,
    "The program's absolute path and its arguments, run without a shell. `PROVIDER_ID`, `VEHICLE_ID` and `TOKEN_SCOPE` are in its environment; it prints one JSON object and ends with 0. What it writes on standard error goes to the journal."
  )
  static let tokenFile = SettingKey(
    .token, "file", .path, .required, of: .file,
    "A file that holds the token alone, or JSON with it, and is read again when it changes. Others than its owner and its group must not have access."
  )
  static let response = SettingKey(
    .token, "response", .choice() as SettingKind<ResponsePreset>, .none,
    "The answer is as that of Google's sample backend for last mile fleets, or for rides: sets the next four keys, each of which can still be written."
  )
  static let tokenKey = SettingKey(
    .token, "token_key", .dottedKey, .value(.string("token")),
    "Where the token stands in the JSON answer.")
  static let expirationKey = SettingKey(
    .token, "expiration_key", .dottedKey, .none,
    "Where the expiration stands in the answer. If it is not written, the token itself tells (its `exp` claim).")
  static let expirationFormat = SettingKey(
    .token, "expiration_format", .choice() as SettingKind<Settings.Token.ExpirationFormat>, .value(.string("auto")),
    "What the expiration is: seconds or milliseconds since 1970, seconds from now on, a date as in RFC 3339, or the token's own `exp` claim."
  )
  static let creationKey = SettingKey(
    .token, "creation_key", .dottedKey, .none,
    "Where the time of creation stands in the answer, in the same format. It helps a machine whose clock is wrong.")
  static let tokenDeadline = SettingKey(
    .token, "deadline", .duration(.seconds(1)...(.seconds(60))), .value(.string("15s")),
    "A request that takes longer is given up; a program that does is ended.")
  static let tokenCache = SettingKey(
    .token, "cache", .boolean, .value(.boolean(true)),
    "Whether the token is kept over a restart, in memory that only the service can read (`$RUNTIME_DIRECTORY`), and never over a reboot: a fleet that is upgraded at once does not ask the provider at once. A token in a file of its own is not kept a second time."
  )
  static let tokenProxy = SettingKey(
    .token, "proxy", .proxy, .none, of: .http, "A proxy on the way to the provider.")
  static let tokenCAFile = SettingKey(
    .token, "ca_file", .path, .none, of: .http, "PEM file of the authorities to trust, instead of the system's.")
  static let clientCertificate = SettingKey(
    .token, "client_certificate", .path, .none, of: .http, "PEM file of the certificate to show to the provider.")
  static let clientKey = SettingKey(
    .token, "client_key", .path, .none, of: .http, "PEM file of the certificate's private key.")

  static let endpoint = SettingKey(
    .fleetEngine, "endpoint", .endpoint, .value(.string("https://fleetengine.googleapis.com")), "Fleet Engine.")
  static let positionField = SettingKey(
    .fleetEngine, "position_field", .choice() as SettingKind<Settings.FleetEngine.PositionField>,
    .value(.string("supplemental")),
    "The fields that carry the position: `supplementalLocation` and its company, as Google asks of senders that are not its SDK, or `location`."
  )
  static let deadline = SettingKey(
    .fleetEngine, "deadline", .duration(.seconds(1)...(.seconds(60))), .value(.string("15s")),
    "A request that takes longer is given up.")
  static let caFile = SettingKey(
    .fleetEngine, "ca_file", .path, .none, "PEM file of the authorities to trust, instead of the system's.")
  static let proxy = SettingKey(
    .fleetEngine, "proxy", .proxy, .none,
    "A proxy to go through. Without it none is used, whatever the environment says.")

  static let interval = SettingKey(
    .reporting, "interval", .duration(.zero...(.seconds(60))), .value(.string("10s")),
    "Time between updates while driving. Under 5s, down to \"0s\" (every fix), only with an endpoint on loopback.")
  static let heartbeat = SettingKey(
    .reporting, "heartbeat", .duration(.seconds(1)...(.seconds(60))), .value(.string("50s")),
    "Time between updates while parked: from the interval to 50s, so that no gap passes a minute. With an interval over 50s it is the interval."
  )
  static let stopTimeout = SettingKey(
    .reporting, "stop_timeout", .duration(.zero...(.seconds(60))), .value(.string("3s")),
    "How long the last update may take when the service stops.")
  static let drainTimeout = SettingKey(
    .reporting, "drain_timeout", .duration(.zero...(.seconds(86_400))), .value(.string("1min")),
    "How long the rest of a recording, or of a drive that does not loop, may take to be delivered after its end. Then the program ends with status 75."
  )
  static let distance = SettingKey(
    .reporting, "distance", .distance(0...100_000), .value(.string("0 m")),
    "An update before its time after so much driving, never under 5s; 0 is off.")
  static let heading = SettingKey(
    .reporting, "heading", .number(0...180), .value(.integer(0)),
    "An update before its time after a turn of so many degrees, never under 5s; 0 is off.")

  static let maxAccuracy = SettingKey(
    .filter, "max_accuracy", .distance(1...10_000), .value(.string("100 m")),
    "A fix that is less accurate (one sigma) is not believed. One of unknown accuracy is.")
  static let maxSpeed = SettingKey(
    .filter, "max_speed", .speed(1...2000), .value(.string("250 km/h")),
    "A fix that would need more speed to be reached is not believed, until several agree.")
  static let minSatellites = SettingKey(
    .filter, "min_satellites", .integer(0...64), .value(.integer(0)),
    "A fix from fewer satellites is not believed; 0 is off.")
  static let maxHDOP = SettingKey(
    .filter, "max_hdop", .number(0.5...100), .value(.integer(20)),
    "A fix with more horizontal dilution of precision is not believed.")
  static let maxFixAge = SettingKey(
    .filter, "max_age", .duration(.seconds(1)...(.seconds(300))), .value(.string("10s")),
    "An older fix is not believed.")

  static let maxLocations = SettingKey(
    .backlog, "max_locations", .integer(0...100_000), .value(.integer(10_000)),
    "At most so many positions are kept; 0 keeps none.")
  static let maxBacklogAge = SettingKey(
    .backlog, "max_age", .duration(.seconds(60)...(.seconds(30 * 86_400))), .value(.string("7 days")),
    "Older positions are dropped.")
  static let batch = SettingKey(
    .backlog, "batch", .integer(1...1000), .value(.integer(100)), "At most so many of them ride along in one request.")

  static let backlogDirectory = SettingKey(
    .backlog, "directory", .path, .none,
    "Where the backlog outlives a restart and a power cut. If it is not written, the service's own (`StateDirectory=` of the unit); without one it is kept in memory only."
  )
  static let maxSize = SettingKey(
    .backlog, "max_size", .size(2_000_000...1_000_000_000), .value(.string("16 MB")),
    "Its files get no larger. 256 bytes are reckoned for each position, beside 1 MB for the log; if that is less than `max_locations` need, fewer are kept."
  )
  static let commitInterval = SettingKey(
    .backlog, "commit_interval", .duration(.zero...(.seconds(60))), .value(.string("5s")),
    "What a power cut may cost: so long may a position wait for others before they are written together. 0s writes each before it is sent, even while all is well, and wears flash memory."
  )

  static let level = SettingKey(
    .log, "level", .choice() as SettingKind<Settings.Log.Level>, .value(.string("info")),
    "What is not worth less is written.")
  static let positions = SettingKey(
    .log, "positions", .boolean, .value(.boolean(false)),
    "Whether coordinates are written, at level `debug` with each accepted update. They are personal data.")

  static let metricsTextfile = SettingKey(
    .metrics, "textfile", .path, .none,
    "A file for the textfile collector of Prometheus' node exporter, whose name has to end in `.prom`; best under `/run/fleet-locationd/`. Written at most once a minute, and never by waking the machine. Without it none is."
  )

  /// In the order in which the reference lists them.
  static let all: [any DescribedSetting] = [
    providerID, vehicleID,
    sourceType, silenceTimeout, device, baud, address, gpsdDevice, route, speed, acceleration, braking, cornering,
    drivePace, headStart, loop, noise, seed, clockOffset, stops, tunnels, canyons, file, pace, time,
    provider, url, method, body, headers, command, tokenFile, response, tokenKey, expirationKey, expirationFormat,
    creationKey, tokenDeadline, tokenCache, tokenCAFile, clientCertificate, clientKey, tokenProxy,
    endpoint, positionField, deadline, caFile, proxy,
    interval, heartbeat, stopTimeout, drainTimeout, distance, heading,
    maxAccuracy, maxSpeed, minSatellites, maxHDOP, maxFixAge,
    maxLocations, maxBacklogAge, batch, backlogDirectory, maxSize, commitInterval,
    level, positions,
    metricsTextfile,
  ]
}

extension Settings.Source.Replay.Time: CaseIterable {
  package static let allCases: [Settings.Source.Replay.Time] = [.shift, .keep]
}
