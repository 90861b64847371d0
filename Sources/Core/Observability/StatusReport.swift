// SPDX-License-Identifier: Apache-2.0

/// The response to `status` on the control socket. Ages and lifetimes are in seconds. It has no coordinates, only the
/// shape of the track of the last few minutes.
package struct StatusReport: Equatable, Sendable, Codable {
  /// The newest accepted fix, without coordinates.
  package struct Fix: Equatable, Sendable, Codable {
    /// 2 or 3 dimensions.
    package var mode: Int
    /// As in `gnss`, `dgnss`, `rtk-fixed`, `simulated`.
    package var quality: String
    /// Satellites used; nil if the receiver does not report it.
    package var satellites: Int?
    /// Horizontal accuracy in metres, one sigma.
    package var horizontalAccuracy: Double?
    /// Seconds since the fix was received.
    package var age: Int64
    /// Whether the vehicle is stationary.
    package var isParked: Bool
  }

  /// Why the last update was not accepted.
  package struct Failure: Equatable, Sendable, Codable {
    /// As in docs/architecture.md, under "What the categories mean".
    package var category: String
    /// One sentence, without secrets.
    package var message: String
    /// Seconds for which no update has been accepted.
    package var since: Int64
    /// Seconds until the next attempt, or until a token is requested for it; 0 while either is under way; nil if
    /// neither is planned.
    package var retryIn: Int64?
  }

  /// One of several sources.
  package struct Source: Equatable, Sendable, Codable {
    /// As in `/dev/ttyUSB0 at 9600 baud`.
    package var name: String
    /// `waiting`, `searching`, `good`, `lost` or `ended`.
    package var condition: String
    /// Whether the reported fixes are from this source.
    package var isUsed: Bool
    /// Why it is used or not used.
    package var explanation: String
  }

  /// Counters of the line of one source since it was first opened.
  package struct Line: Equatable, Sendable, Codable {
    /// The device or address of the settings.
    package var source: String
    /// Sentences with a correct checksum.
    package var sentences: Int
    /// Sentences with a wrong checksum.
    package var wrongChecksums: Int
    /// Lines without a checksum: truncated, or not NMEA 0183.
    package var cut: Int
    /// Lines longer than any sentence.
    package var overlong: Int
    /// Sentences that arrived after the end of their epoch.
    package var late: Int
    /// Lines of other protocols, and unknown proprietary sentences.
    package var foreign: Int
    /// The problem of the line, as a sentence; nil if there is none.
    package var trouble: String?
    /// The network senders; nil without a sender, or if the daemon makes the connection.
    package var senders: [Sender]?
    /// Senders whose data was not read, the most recent last; nil if there are none.
    package var refused: [Refused]?
  }

  /// A network sender of NMEA 0183.
  package struct Sender: Equatable, Sendable, Codable {
    /// As in `192.168.0.1`.
    package var address: String
    /// Whether the reported fixes are from this sender.
    package var isUsed: Bool
    /// Seconds until it is used at the earliest, because its fixes are too far from the last position; nil if they are
    /// not too far.
    package var heldFor: Int64?
  }

  /// A sender whose data was not read.
  package struct Refused: Equatable, Sendable, Codable {
    /// As in `192.168.0.77`.
    package var address: String
    /// `notAllowed`, `noRoom`, or `portInUse`: `LineStatistics.RefusalReason`; nil, for `notAllowed`, in the response
    /// of an earlier release.
    package var reason: String?
    /// Number of connections or datagrams.
    package var count: Int
    /// Seconds since the last of these connections or datagrams.
    package var age: Int64
  }

  /// What the daemon waits for: the most important cause, the same in all outputs.
  package struct State: Equatable, Sendable, Codable {
    /// One word for scripts, as ``Explanation/reason``, except that while nothing prevents updates it is `notDue`,
    /// `inFlight` or `spacing`, whatever happened to the last fix.
    package var cause: String
    /// As in `no network`.
    package var label: String
    /// The text after the label, as in ` for 4 min`.
    package var detail: String
    /// `good`, `warning` or `bad`.
    package var level: String
    /// What to do, as a sentence without its full stop; nil if there is nothing to do, or in the response of an earlier
    /// release.
    package var advice: String?

    /// Whether another process of this machine reports the vehicle.
    package var isVehicleInUse: Bool { cause == "vehicleInUse" }
  }

  /// When the next update is sent, if nothing changes.
  package struct NextUpdate: Equatable, Sendable, Codable {
    /// Seconds from now; 0: at once, or, with `token`, the token is being requested.
    package var due: Int64
    /// `report`, `heartbeat`, `retry` after a failure, `offline`, or `token` if one is needed first.
    package var kind: String
  }

  /// The result of the last request to Fleet Engine.
  package struct Outcome: Equatable, Sendable, Codable {
    /// `accepted`, or the category of the failure.
    package var result: String
    /// Seconds since it ended.
    package var age: Int64
    /// Milliseconds from the request to its end.
    package var milliseconds: Int64
    /// Past positions in the request that were accepted.
    package var past: Int
  }

  /// Programs that monitor the daemon, or the positions.
  package struct Monitors: Equatable, Sendable, Codable {
    /// Number of connected programs.
    package var connected: Int
    /// Number of programs that were disconnected since the start because they did not read.
    package var dropped: Int

    package init(connected: Int, dropped: Int) {
      self.connected = connected
      self.dropped = dropped
    }
  }

  /// The form in which updates are sent.
  package struct UpdateForm: Equatable, Sendable, Codable {
    /// `compact` or `plain`.
    package var form: String
    /// Why they are plain, as part of a sentence; nil if they are compact.
    package var reason: String?
    /// Whether the reason is the settings, and not the server.
    package var isSet: Bool
  }

  /// An event of the journal.
  package struct Event: Equatable, Sendable, Codable {
    /// As in docs/journal.md.
    package var name: String
    /// `error`, `warning`, `notice` or `info`.
    package var level: String
    /// As in the journal, without coordinates.
    package var sentence: String
    /// Seconds since it was last logged.
    package var age: Int64
    /// Number of times it was logged in a row.
    package var times: Int
  }

  /// The shape of the track, without coordinates.
  package struct Track: Equatable, Sendable, Codable {
    /// Age of its first position in seconds.
    package var seconds: Int64
    /// Metres east and north of the newest position, oldest first; the last one is 0, 0.
    package var points: [[Int]]
  }

  /// Which settings are in force.
  package struct Settings: Equatable, Sendable, Codable {
    /// A hash in 16 hexadecimal digits; equal for equal settings.
    package var hash: String
    /// Whether the last settings that led to an accepted update are used instead of the settings files, because the
    /// files have a mistake or their settings were reverted.
    package var isKept: Bool
    /// The mistakes in the files, one per line; nil while the files are in force.
    package var mistake: String?
    /// Why the settings of the files were reverted; nil if they were not.
    package var takenBack: String?
    /// Why the settings in force should have been reverted, and why they were not; nil if neither is the case.
    package var unconfirmed: String?
    /// Nil if the settings in force need no confirmation.
    package var confirmation: Confirmation?
    /// The last reload; nil before the first.
    package var lastReload: Reload?
  }

  /// Settings in force that still need to be confirmed by an accepted update.
  package struct Confirmation: Equatable, Sendable, Codable {
    /// Seconds left.
    package var left: Int64
    /// Seconds in all.
    package var limit: Int64
    /// What the settings wait for, as a clause.
    package var sentence: String
    /// Why the countdown is stopped; nil while it runs.
    package var standstill: String?
    /// Why the settings stay in force after the timeout; nil if they are reverted then.
    package var obstacle: String?
  }

  /// The last reload of the settings.
  package struct Reload: Equatable, Sendable, Codable {
    /// Whether the new settings came into force.
    package var isSuccess: Bool
    /// Seconds since it ended.
    package var age: Int64
    /// The mistakes in the settings, one per line; nil if the settings came into force.
    package var mistake: String?
  }

  /// The queued positions.
  package struct Backlog: Equatable, Sendable, Codable {
    /// Number of queued positions.
    package var count: Int
    /// Age of the oldest queued position relative to the newest fix; nil if there is no queued position or no fix.
    package var oldestAge: Int64?
    /// `disk`, `memory`, `off`, or `unread` until the store has been read.
    package var store: String
    /// Why the backlog is only in memory.
    package var storeTrouble: String?
    /// Size of the backlog's files in bytes; nil without files.
    package var bytes: Int64?
    /// Number of undelivered positions that were removed since the start, by reason.
    package var removed: [String: Int]
    /// Greatest distance in metres of a thinned-out position from the track of the others; nil without thinning.
    package var thinnedWithin: Double?
  }

  /// Data volume of this day and this month (UTC), to and from Fleet Engine and the token provider.
  package struct Traffic: Equatable, Sendable, Codable {
    /// Data volume of a day or a month in bytes, with IP and TCP headers.
    package struct Period: Equatable, Sendable, Codable {
      /// As in `2026-11-21` or `2026-11`.
      package var date: String
      /// Sent to both servers.
      package var sent: UInt64
      /// Received from both servers.
      package var received: UInt64
      /// Retransmitted payload; included in `sent`.
      package var retransmitted: UInt64
      /// IP and TCP headers; included in `sent` and `received`.
      package var headers: UInt64
      /// To and from the token provider; included in `sent` and `received`.
      package var tokenProvider: UInt64
      /// Number of updates that Fleet Engine accepted.
      package var updates: UInt64
      /// Bytes to and from Fleet Engine per update; nil without updates.
      package var perUpdate: UInt64?
    }

    /// The current day.
    package var today: Period
    /// The current month so far.
    package var month: Period
  }

  /// The line of `systemctl status`, with the external text that is omitted there.
  package var summary: String
  /// The vehicle's ID; nil if it is not known.
  package var vehicle: String?
  /// The service of Fleet Engine that it belongs to: `deliveries` or `trips`; nil in the response of an earlier
  /// release.
  package var service: String?
  /// `ONLINE` or `OFFLINE`, as Fleet Engine last accepted it; nil if that is unknown, or the daemon does not set the
  /// state.
  package var vehicleState: String?
  /// The daemon's release; nil if it is not set.
  package var version: String?
  /// The daemon's uptime; nil if it is not set.
  package var uptime: Int64?
  /// What the daemon waits for; nil in the response of an earlier release.
  package var state: State?
  /// `reporting.heartbeat` of the settings in force; nil if it is not set.
  package var heartbeat: Int64?
  /// The settings in force; nil if they are not known.
  package var settings: Settings?
  /// Whether Fleet Engine accepted the last update, and there is a network.
  package var isOnline: Bool
  /// Whether no position is sent or stored.
  package var isPaused: Bool
  /// When the pause began, RFC 3339; nil without a pause, or if the time was unknown then.
  package var pausedSince: String?
  /// Why the stored pause could not be read, or a change to it could not be stored; nil if neither happened.
  package var pauseTrouble: String?
  /// The driver's duty, `ONLINE` or `OFFLINE`; nil if the vehicle's state does not follow it, and in the response of an
  /// earlier release.
  package var duty: String?
  /// When the driver went off duty, RFC 3339; nil on duty, or if the time was unknown then.
  package var offDutySince: String?
  /// Whether the vehicle is to be OFFLINE and Fleet Engine has not accepted that yet, or a request with ONLINE may
  /// still arrive after OFFLINE; nil in the response of an earlier release.
  package var isOfflinePending: Bool?
  /// Like `pauseTrouble`, for the stored duty.
  package var dutyTrouble: String?
  /// The source that is used; nil if there is none.
  package var source: String?
  /// Why no source is used.
  package var sourceTrouble: String?
  /// All sources in the order of priority; nil if there is only one.
  package var sources: [Source]?
  /// The line counters of each source that has a line; nil if it is not set.
  package var lines: [Line]?
  /// The newest accepted fix; nil before the first.
  package var fix: Fix?
  /// How long no fix has been accepted, counted from the last one or from when a source was opened; nil while there is
  /// a fix.
  package var withoutFix: Int64?
  /// Satellites in view while there is no fix; nil if there is one, or the receiver does not report them.
  package var satellitesInView: Int?
  /// Age of the last accepted update.
  package var lastUpdate: Int64?
  /// Whether a request to Fleet Engine is under way; nil in the response of an earlier release.
  package var isUpdating: Bool?
  /// The next request to Fleet Engine; nil if none is planned: during a pause, or before the first fix.
  package var nextUpdate: NextUpdate?
  /// The next request, for a person, as in `in 7 s, a heartbeat`; nil in the response of an earlier release.
  package var nextRequest: String?
  /// The protocol of Fleet Engine's last response, `HTTP/2` or `HTTP/1.1`; nil before the first.
  package var transport: String?
  /// In which form updates are sent; nil in the response of an earlier release.
  package var updateForm: UpdateForm?
  /// The result of the last update; nil before the first has ended.
  package var lastOutcome: Outcome?
  /// Updates accepted and failed in each of the last minutes, oldest first, the last one still running; nil if none has
  /// ended in the last half hour.
  package var lastMinutes: [[Int]]?
  /// The recent track; nil if the vehicle has not moved, and during a pause.
  package var track: Track?
  /// Recent events, newest first; nil if it is not set.
  package var events: [Event]?
  /// Remaining lifetime of the token; nil without one.
  package var token: Int64?
  /// Why the last request to the token provider returned no token; nil if it did.
  package var tokenTrouble: String?
  /// How long requests have returned no token; nil if the last one did.
  package var tokenTroubleSince: Int64?
  /// Why the last update failed; nil if it was accepted, or there was none.
  package var failure: Failure?
  /// How far this machine's clock is ahead, if it is wrong by half a minute or more; negative if it is behind.
  package var clockOffset: Int64?
  /// How long there has been no network; nil if there is one, or it is unknown.
  package var withoutNetwork: Int64?
  /// The queued positions.
  package var backlog: Backlog
  /// The data volume; nil while the date is unknown, or if it is not set.
  package var traffic: Traffic?
  /// Programs that monitor the daemon; nil in the response of an earlier release.
  package var monitors: Monitors?
  /// Programs that monitor the positions; nil if there is no socket for them.
  package var positionMonitors: Monitors?
  /// What happened to the last fix, and what the daemon waits for.
  package var explanation: Explanation
  /// What happened to the last fix, without what ``state`` says; empty if there is nothing more to say, nil in the
  /// response of an earlier release.
  package var lastFix: String?
  /// Counts since the start, by name.
  package var counters: [String: Int]
}
