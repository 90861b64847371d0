// SPDX-License-Identifier: Apache-2.0
import Reporting
import Delivery
import Daemon
import Vehicle
import FleetEngine
import Positioning
import Timekeeping

/// The events of one simulated run, which is completely determined by these and the seed.
struct Scenario {
  enum Act: Sendable {
    /// The machine gets a new address.
    case networkUp
    /// The machine loses its network, or gets it back.
    case network(Bool)
    /// The machine is suspended for this many seconds.
    case suspend(Int)
    case reload(vehicle: String)
    case stop(within: Int)
    case sourceEnded
    /// The driver pauses or resumes.
    case pause
    case resume
    /// The driver goes off duty, and on duty.
    case goOffline
    case goOnline
    /// The wall clock is stepped by this many seconds.
    case clockStep(Int64)
    /// The wall clock is set to the true time.
    case clockSet
    /// A request on the control socket.
    case ask(Daemon.Request)
    /// The token provider in the settings files is changed: to one that does not know the vehicle, or to one that
    /// works. If `confirm` is not nil, `reload --confirm` follows with this time in seconds.
    case edit(isTokenWrong: Bool, confirm: Int?)
    /// The store's directory is deleted with its contents; the daemon notices it after this number of milliseconds.
    case deleteDirectory(noticedAfter: Int)
    /// After this many more effects there is a power cut of this many seconds.
    case powerCut(afterEffects: Int, seconds: Int)
    /// After this many more effects the process is killed, and restarted after this many seconds: no reboot.
    case kill(afterEffects: Int, seconds: Int)

    /// The number of seconds for which the daemon is not running.
    var lasts: Int {
      switch self {
      case .powerCut(_, let seconds), .kill(_, let seconds), .suspend(let seconds): seconds
      default: 0
      }
    }
  }

  /// Settings other than the defaults.
  enum Setting: Sendable {
    case interval(Int)
    case distance(Double)
    case heading(Double)
    case batch(Int)
    case maxLocations(Int)
    /// The commit interval of the backlog, in seconds.
    case commitInterval(Int)
    /// A vehicle of on-demand trips.
    case trips(reportsState: Bool = true, offlineOnStop: Bool = false)
  }

  /// A second receiver, and its differences from the first.
  struct SecondReceiver: Sendable {
    /// Milliseconds by which its clock lags.
    var lag = 0
    /// Metres by which its positions are wrong.
    var metresOff = 0.0
  }

  /// The recording that the first source replays in place of a receiver, with the recorded times.
  enum Recording: Sendable {
    /// A pipe to which a receiver writes in real time.
    case pipe
    /// A file with this many positions of the previous hour, which is replayed as fast as the daemon processes it; and
    /// whether all positions are inaccurate.
    case file(Int, isInaccurate: Bool)
  }

  var seed: UInt64 = 1
  /// The duration of the run in seconds.
  var duration = 3600
  var drive = PlannedDrive.Plan.steady(14)
  var faults: [Fault] = []
  var acts: [(second: Int, act: Act)] = []
  /// Error of the wall clock at boot in seconds; nil: it starts in 1970.
  var wallError: Int64? = 0
  var tokenLife = 3600
  /// The receiver's positions are wrong by up to this many metres.
  var noise = 1.5
  var settings: [Setting] = []
  /// The receiver reports only the time of day.
  var isDateless = false
  /// The sentences that the receivers write, and their baud rate.
  var dialect = NMEADialect.brief
  var baud = 9600
  /// The settings contain no baud rate, so the daemon detects it.
  var isAutobaud = false
  /// The first receiver is in a router, which sends its sentences in datagrams.
  var isNetworked = false
  /// The first receiver is in a modem of ModemManager.
  var hasModem = false
  /// The first receiver is read through gpsd.
  var hasGPSD = false
  var recording: Recording?
  var secondReceiver: SecondReceiver?
  /// Each epoch arrives in several portions, as from a UART: the daemon then predicts when it is complete.
  var isSplit: Bool { seed % 4 == 3 }
  /// Whether there are faults in the ``Installation``: settings, credentials, directories.
  var hasInstallationFaults = false
  /// The files of the runtime directory survive a reboot, as in a container.
  var keepsRuntimeFiles = false
  /// Certificates are checked: they are valid from a month before boot to two months after.
  var hasCertificates = false

  /// The time of boot, with which the simulation begins.
  static let boot = Timestamp(seconds: 1_796_083_200)
  static let bootMilliseconds = boot.milliseconds
  static let buildDate = Timestamp(seconds: 1_795_219_200)

  func applySettings(to configuration: inout VehicleAgent.Configuration) {
    configuration.filter.usesRecordedTimes = recording != nil
    for setting in settings {
      switch setting {
      case .interval(let seconds):
        configuration.reporting.interval = .seconds(seconds)
        configuration.delivery.backfillInterval = .seconds(seconds)
        configuration.delivery.floor = configuration.reporting.floor
      case .distance(let metres): configuration.reporting.distance = metres
      case .heading(let degrees): configuration.reporting.heading = degrees
      case .batch(let count): configuration.delivery.batch = count
      case .maxLocations(let count): configuration.delivery.maxLocations = count
      case .commitInterval: break
      case .trips(let reportsState, let offlineOnStop):
        var vehicle = configuration.delivery.endpoint.vehicle
        vehicle.service = .trips
        configuration.context = vehicle.tokenContext
        configuration.delivery.endpoint = FleetEngineEndpoint(
          origin: "https://fleetengine.test", vehicle: vehicle, reportsState: reportsState)
        configuration.goesOfflineOnStop = offlineOnStop
      }
    }
  }

  /// The commit interval of the backlog; nil: the default.
  var commitInterval: Duration? {
    for setting in settings {
      if case .commitInterval(let seconds) = setting { return .seconds(seconds) }
    }
    return nil
  }

  func daemonConfiguration(
    _ vehicle: VehicleAgent.Configuration, parts: SettingsParts = SettingsParts(), kept: SettingsParts? = nil
  ) -> Daemon.Configuration {
    var store = StoreAgent.Configuration()
    store.directory = "/var/lib/fleet-locationd"
    store.commitInterval = commitInterval
    return Daemon.Configuration(
      vehicle: vehicle, store: store, settingsText: parts.all, metricsFile: "fleet_locationd.prom", parts: parts,
      keptParts: kept)
  }

  /// The settings of a vehicle of on-demand trips; nil: scheduled tasks.
  var trips: (reportsState: Bool, offlineOnStop: Bool)? {
    for setting in settings {
      if case .trips(let reportsState, let offlineOnStop) = setting { return (reportsState, offlineOnStop) }
    }
    return nil
  }

  /// The first second since boot at which wrong time references can outvote the others; infinity: never. These
  /// references are a server and a receiver, or Fleet Engine alone if another reference is missing: a restarted daemon
  /// does not know the provider's time.
  var secondClockErrorAt: Double {
    var (server, receiver) = (Double.infinity, Double.infinity)
    let isOneMissing =
      (wallError ?? 1) != 0
      || acts.contains {
        switch $0.act {
        case .clockStep, .powerCut, .kill, .deleteDirectory: true
        default: false
        }
      }
      || faults.contains {
        switch $0.kind {
        case .providerClock, .providerUndated: true
        default: false
        }
      }
    for fault in faults {
      switch fault.kind {
      case .serverClock:
        server = min(server, Double(fault.from))
        if isOneMissing { receiver = min(receiver, Double(fault.from)) }
      case .providerClock: server = min(server, Double(fault.from))
      // Delayed data is as late as if the clock were behind.
      case .ahead, .behind, .undated, .heldBack: receiver = min(receiver, Double(fault.from))
      default: break
      }
    }
    return max(server, receiver)
  }

  /// Whether a token provider without a `Date` is a time source nevertheless: the machine's clock is right
  /// throughout, and agrees with each `iat`.
  var hasAgreeingIssueTimes: Bool {
    let isBackdated = faults.contains { if case .providerUndated(let seconds) = $0.kind { seconds > 3 } else { false } }
    return hasRightClock && !isBackdated
  }

  /// Whether the machine's clock is right throughout.
  var hasRightClock: Bool {
    wallError == 0 && !acts.contains { if case .clockStep = $0.act { true } else { false } }
  }

  func isActive(at second: Double, _ matches: (Fault.Kind) -> Bool) -> Bool {
    faults.contains { $0.isActive(at: second) && matches($0.kind) }
  }
}
