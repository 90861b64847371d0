// SPDX-License-Identifier: Apache-2.0

/// Everything that the daemon can be told, with the defaults applied: what a settings file means.
///
/// `docs/settings.md` says the same to a reader; the table there is made from the parser.
package struct Settings: Equatable, Sendable {
  package var vehicle: Vehicle
  /// In the order of preference; one or more.
  package var sources: [Source]
  package var token: Token
  package var fleetEngine: FleetEngine
  package var reporting: Reporting
  package var filter: Filter
  package var backlog: Backlog
  package var log: Log
  package var metrics: Metrics

  /// Which vehicle this is.
  package struct Vehicle: Equatable, Sendable {
    /// Google Cloud project ID.
    package var providerID: String
    package var vehicleID: String
  }

  /// Where fixes come from.
  package struct Source: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
      case serial(device: String, baud: Baud)
      case gpsd(GPSD)
      case simulated(Simulated)
      case replay(Replay)
    }

    package enum Baud: Equatable, Sendable {
      /// Bits per second.
      case fixed(Int)
      /// The one at which sentences have the right checksum.
      case auto
    }

    package struct GPSD: Equatable, Sendable {
      /// A name, or an address in digits without brackets.
      package var host: String
      package var port: Int
      /// The only receiver that counts, as gpsd names it; nil for the first that gives fixes.
      package var device: String?
    }

    package struct Simulated: Equatable, Sendable {
      package struct Stop: Equatable, Sendable {
        package enum Place: Equatable, Sendable {
          /// Metres along the route.
          case distance(Double)
          /// The name of a waypoint in the route's file.
          case waypoint(String)
        }

        package var place: Place
        package var dwell: Duration
      }

      /// Metres along the route.
      package struct Stretch: Equatable, Sendable {
        package var from: Double
        package var length: Double
      }

      package struct Canyon: Equatable, Sendable {
        package var stretch: Stretch
        /// Metres, one sigma.
        package var noise: Double
      }

      /// Path of a GPX or GeoJSON file.
      package var route: String
      /// Metres per second, more than 0. Nil follows the times of the route when it has them.
      package var speed: Double?
      /// Metres per second squared, as are the next two.
      package var acceleration: Double
      package var braking: Double
      package var cornering: Double
      /// Seconds of the drive in one second, more than 0.
      package var pace: Double
      /// How long it has been under way at the start, in seconds of the drive.
      package var headStart: Duration
      package var loop: Bool
      /// Metres, one sigma.
      package var noise: Double
      package var seed: UInt64
      /// How far the receiver's clock is ahead; less than zero is behind.
      package var clockOffset: Duration
      package var stops: [Stop]
      package var tunnels: [Stretch]
      package var canyons: [Canyon]
    }

    package struct Replay: Equatable, Sendable {
      package enum Time: String, Sendable {
        /// The recording starts now.
        case shift
        /// The recording's own times are kept.
        case keep
      }

      /// Path of a file or FIFO; `-` is standard input.
      package var file: String
      /// 1 is the recording's own speed, 2 twice as fast, 0 as fast as the positions are delivered.
      package var pace: Double
      package var time: Time
    }

    package var kind: Kind
    package var silenceTimeout: Duration
  }

  /// Who gives tokens.
  package struct Token: Equatable, Sendable {
    package enum Provider: Equatable, Sendable {
      case http(HTTP)
      /// A program's absolute path and its arguments, templates all.
      case command([String])
      /// Path of a file that another program keeps up to date.
      case file(String)
    }

    package enum ExpirationFormat: String, Sendable, CaseIterable {
      case epochSeconds = "epoch-s"
      case epochMilliseconds = "epoch-ms"
      /// Seconds from now on.
      case seconds
      case rfc3339
      /// The `exp` claim of the token itself.
      case jwt
      case auto
    }

    package enum Method: String, Sendable, CaseIterable {
      case get = "GET"
      case post = "POST"
    }

    /// Where the value of a header comes from.
    package enum HeaderSource: Equatable, Sendable {
      case plain(String)
      /// The name of a systemd credential.
      case credential(String)
      /// Path of a file that others cannot read.
      case file(String)
    }

    package struct Header: Equatable, Sendable {
      package var name: String
      package var value: HeaderSource
    }

    /// A URL that is asked.
    package struct HTTP: Equatable, Sendable {
      /// Template with placeholders as in `{vehicle_id}`.
      package var url: String
      package var method: Method
      /// Body of a POST: template as `url`. Nil sends none.
      package var body: String?
      package var headers: [Header]
      package var caFile: String?
      package var clientCertificate: String?
      package var clientKey: String?
      /// URL of an HTTP proxy.
      package var proxy: String?
    }

    package var provider: Provider
    /// Key, or dotted path, of the token in the answer.
    package var tokenKey: String
    /// Nil: the answer tells no expiration.
    package var expirationKey: String?
    package var expirationFormat: ExpirationFormat
    /// Key of the time of creation, in the same format, when the answer tells it.
    package var creationKey: String?
    package var deadline: Duration
    /// Whether a restart goes on with the token in hand.
    package var isCached = true
  }

  /// Where positions go.
  package struct FleetEngine: Equatable, Sendable {
    package enum PositionField: String, Sendable, CaseIterable {
      case supplemental
      case location
    }

    /// `https://host[:port]` without a path, or `http://` to a loopback address.
    package var endpoint: String
    package var positionField: PositionField
    package var deadline: Duration
    package var caFile: String?
    /// URL of an HTTP proxy.
    package var proxy: String?

    /// Whether positions stay on this machine.
    package var isLoopback: Bool {
      (try? WebAddress.parse(endpoint, schemes: ["https", "http"]).isLoopback) ?? false
    }

    /// A host to connect to, an IPv6 address without brackets, and its port.
    package struct Hop: Equatable, Sendable {
      package var host: String
      package var port: Int
    }

    /// The first party on the way: the proxy if there is one, else the endpoint. Nil for settings that no file makes.
    package var firstHop: Hop? {
      guard let proxy else {
        return (try? WebAddress.parse(endpoint, schemes: ["https", "http"])).map {
          Hop(host: $0.host, port: $0.port ?? ($0.scheme == "https" ? 443 : 80))
        }
      }
      // libcurl's port for every kind of proxy.
      return (try? WebAddress.parse(proxy, schemes: ["http", "https", "socks5", "socks5h"])).map {
        Hop(host: $0.host, port: $0.port ?? ($0.scheme == "https" ? 443 : 1080))
      }
    }
  }

  /// When a position is sent.
  package struct Reporting: Equatable, Sendable {
    package var interval: Duration
    package var heartbeat: Duration
    package var stopTimeout: Duration
    /// For what is left when the source has ended.
    package var drainTimeout: Duration
    /// Metres; 0 is off.
    package var distance: Double
    /// Degrees; 0 is off.
    package var heading: Double
  }

  /// Which fixes are believed.
  package struct Filter: Equatable, Sendable {
    /// Metres.
    package var maxAccuracy: Double
    /// Metres per second.
    package var maxSpeed: Double
    package var minSatellites: Int
    package var maxHDOP: Double
    package var maxAge: Duration
  }

  /// What is kept while there is no network.
  package struct Backlog: Equatable, Sendable {
    package var maxLocations: Int
    package var maxAge: Duration
    /// Positions in one request.
    package var batch: Int
    /// Where it is kept on disk; nil keeps it in memory.
    package var directory: String?
    /// Bytes of the file and its log.
    package var maxSize: Int64
    /// How long a change may wait before it is written.
    package var commitInterval: Duration
  }

  /// What a monitoring system gets.
  package struct Metrics: Equatable, Sendable {
    /// Path of a file for Prometheus' node exporter; nil writes none.
    package var textfile: String?
  }

  /// What the journal gets.
  package struct Log: Equatable, Sendable {
    package enum Level: String, Sendable, CaseIterable {
      case error
      case warning
      case notice
      case info
      case debug
    }

    package var level: Level
    /// Coordinates are personal data.
    package var positions: Bool
  }
}
