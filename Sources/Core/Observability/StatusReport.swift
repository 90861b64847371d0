// SPDX-License-Identifier: Apache-2.0

/// What a person or a script may ask of a running daemon. Ages and lifetimes are in seconds; no coordinates, only the
/// shape of the way of the last minutes.
package struct StatusReport: Equatable, Sendable, Codable {
  /// The newest accepted fix, without its place.
  package struct Fix: Equatable, Sendable, Codable {
    /// 2 or 3 dimensions.
    package var mode: Int
    /// As in `gnss`, `dgnss`, `rtk-fixed`, `simulated`.
    package var quality: String
    /// Used for it; nil where the receiver does not say.
    package var satellites: Int?
    /// Metres.
    package var horizontalAccuracy: Double?
    /// Since it came.
    package var age: Int64
    /// The vehicle does not move.
    package var isParked: Bool
  }

  /// Why the last update was not accepted.
  package struct Failure: Equatable, Sendable, Codable {
    /// As in docs/architecture.md, under "What the categories mean".
    package var category: String
    /// One sentence, without secrets.
    package var message: String
    /// For how long no update has been accepted.
    package var since: Int64
    /// Seconds until the next attempt, or until a token for it is asked for; 0 while one of the two is under way.
    package var retryIn: Int64
  }

  /// One of several sources.
  package struct Source: Equatable, Sendable, Codable {
    /// As in `/dev/ttyUSB0 at 9600 baud`.
    package var name: String
    /// `waiting`, `searching`, `good`, `lost` or `ended`.
    package var condition: String
    /// Whether the fixes are from it.
    package var isUsed: Bool
    /// Why it is used, or is not.
    package var explanation: String
  }

  /// What came over the line of one source since it was opened first.
  package struct Line: Equatable, Sendable, Codable {
    /// The device or address, as the settings have it.
    package var source: String
    /// With the right checksum.
    package var sentences: Int
    /// With a wrong one.
    package var wrongChecksums: Int
    /// Without a checksum: the line was cut, or is none of NMEA's.
    package var cut: Int
    /// Longer than any sentence.
    package var overlong: Int
    /// Sentences after the end of their epoch.
    package var late: Int
    /// Lines of other languages, and private sentences that are not understood.
    package var foreign: Int
    /// What is wrong with it, for people; nil while little is.
    package var trouble: String?
    /// Who sends from the network; nil without a sender, and where the daemon connects by itself.
    package var senders: [Sender]?
    /// Who sends and is not allowed, the latest at the end; nil while there is none.
    package var refused: [Refused]?
  }

  /// Who sends NMEA 0183 from the network.
  package struct Sender: Equatable, Sendable, Codable {
    /// As in `192.168.0.1`.
    package var address: String
    /// Whether the fixes are from it.
    package var isUsed: Bool
  }

  /// Who sends and is not allowed: nothing of it was read.
  package struct Refused: Equatable, Sendable, Codable {
    /// As in `192.168.0.77`.
    package var address: String
    /// Connections or datagrams.
    package var count: Int
    /// Seconds since the last of them.
    package var age: Int64
  }

  /// What the daemon waits for: the first reason in the order that all outputs share.
  package struct State: Equatable, Sendable, Codable {
    /// One word for a script, as ``Explanation/reason``, but never what became of a fix that nothing stands in the way of.
    package var cause: String
    /// As in `no network`.
    package var label: String
    /// What follows the label in a line, as in ` for 4 min`.
    package var detail: String
    /// `good`, `warning` or `bad`.
    package var level: String
  }

  /// When the next update goes, if nothing happens before.
  package struct NextUpdate: Equatable, Sendable, Codable {
    /// Seconds from now; 0 is at once, and with `token` that it is being fetched.
    package var due: Int64
    /// `report`, `heartbeat`, `retry` after a failure, or `token` when one has to come first.
    package var kind: String
  }

  /// How the last request to Fleet Engine ended.
  package struct Outcome: Equatable, Sendable, Codable {
    /// `accepted`, or the category of the failure.
    package var result: String
    /// Since it ended.
    package var age: Int64
    /// From the request to its end.
    package var milliseconds: Int64
    /// Past positions that went with it and were accepted.
    package var past: Int
  }

  /// A line of the journal.
  package struct Event: Equatable, Sendable, Codable {
    /// As in docs/journal.md.
    package var name: String
    /// `error`, `warning`, `notice` or `info`.
    package var level: String
    /// As in the journal, without coordinates.
    package var sentence: String
    /// Seconds since it was told last.
    package var age: Int64
    /// How often it was told in a row.
    package var times: Int
  }

  /// The shape of the way: no coordinates.
  package struct Track: Equatable, Sendable, Codable {
    /// Age of its beginning.
    package var seconds: Int64
    /// Metres east and north of the newest position, oldest first; the last one is 0, 0.
    package var points: [[Int]]
  }

  /// Which settings are in force.
  package struct Settings: Equatable, Sendable, Codable {
    /// Equal for settings that say the same: 16 hexadecimal digits.
    package var hash: String
    /// The settings files have a mistake, and the last settings that led to an accepted update stand in for them.
    package var isKept: Bool
    /// What is wrong with the files, every mistake on a line of its own; nil while they are in force.
    package var mistake: String?
    /// Nil before the first.
    package var lastReload: Reload?
  }

  /// How the settings were last read again.
  package struct Reload: Equatable, Sendable, Codable {
    /// They came into force.
    package var isSuccess: Bool
    /// Since then, in seconds.
    package var age: Int64
    /// Why they did not, every mistake on a line of its own; nil when they did.
    package var mistake: String?
  }

  /// The positions that are pending.
  package struct Backlog: Equatable, Sendable, Codable {
    /// Positions that wait.
    package var count: Int
    /// How far the oldest lies behind the newest fix, by their own times; nil when there is none of either.
    package var oldestAge: Int64?
    /// `disk`, `memory` or `off`.
    package var store: String
    /// Why it is in memory only.
    package var storeTrouble: String?
    /// Size of the store's files; nil where there are none.
    package var bytes: Int64?
    /// Positions that left undelivered since the start, by their reason.
    package var removed: [String: Int]
    /// Metres between a position that was thinned and the way that the others tell; nil as long as none was.
    package var thinnedWithin: Double?
  }

  /// What the connections to Fleet Engine and to the token provider carried on this day and in this month (UTC).
  package struct Traffic: Equatable, Sendable, Codable {
    /// Of a day or a month: bytes as they went over the air, headers of IP and TCP included.
    package struct Period: Equatable, Sendable, Codable {
      /// As in `2026-11-21` or `2026-11`.
      package var date: String
      /// To both parties.
      package var sent: UInt64
      /// From both.
      package var received: UInt64
      /// Payload that was sent once more; of `sent`.
      package var retransmitted: UInt64
      /// Headers; of `sent` and `received`.
      package var headers: UInt64
      /// To and from the token provider; of `sent` and `received`.
      package var tokenProvider: UInt64
      /// That Fleet Engine accepted.
      package var updates: UInt64
      /// To and from Fleet Engine for each of them; nil without any.
      package var perUpdate: UInt64?
    }

    /// The day of now.
    package var today: Period
    /// Its month so far.
    package var month: Period
  }

  /// The same line as in `systemctl status`.
  package var summary: String
  /// The vehicle's ID.
  package var vehicle: String?
  /// The service of Fleet Engine that it belongs to: `deliveries` or `trips`; nil in the answer of an earlier release.
  package var service: String?
  /// `ONLINE` or `OFFLINE`, as Fleet Engine last accepted it; nil when that is not known, or the state does not follow the
  /// driver's duty.
  package var vehicleState: String?
  /// Of the daemon; nil when the sender of the report leaves it out.
  package var version: String?
  /// For how long the daemon has run; nil as above.
  package var uptime: Int64?
  /// What the daemon waits for; nil in the answer of an earlier release.
  package var state: State?
  /// `reporting.heartbeat` of the settings in force; nil as above.
  package var heartbeat: Int64?
  /// Nil when whoever made the report did not say.
  package var settings: Settings?
  /// Fleet Engine accepted the last update, and there is a network.
  package var isOnline: Bool
  /// The driver is off duty.
  package var isPaused: Bool
  /// When the pause began, RFC 3339; nil when there is none, or nobody knew the time then.
  package var pausedSince: String?
  /// What is being read; nil when there is none.
  package var source: String?
  /// Why there is none.
  package var sourceTrouble: String?
  /// All of them in the order of preference, when there are several.
  package var sources: [Source]?
  /// Of each source with a line of its own; nil when the sender of the report leaves it out.
  package var lines: [Line]?
  /// Nil before the first.
  package var fix: Fix?
  /// For how long no fix has been accepted: since the last one, or since a source is read; nil when there is a fix.
  package var withoutFix: Int64?
  /// Satellites in view of the receiver while it has no fix; nil when it does not say.
  package var satellitesInView: Int?
  /// Age of the last accepted update.
  package var lastUpdate: Int64?
  /// A request is under way; nil when an earlier release does not say.
  package var isUpdating: Bool?
  /// Nil during a pause, before the first fix, and when the daemon is about to stop.
  package var nextUpdate: NextUpdate?
  /// What brought Fleet Engine's last answer, `HTTP/2` or `HTTP/1.1`; nil before the first.
  package var transport: String?
  /// What became of the last update; nil before the first has ended.
  package var lastOutcome: Outcome?
  /// Updates accepted and failed in each of the last minutes, oldest first, the last one not over yet; nil when none has
  /// ended in the last half hour.
  package var lastMinutes: [[Int]]?
  /// Nil when the vehicle has not moved, and during a pause.
  package var track: Track?
  /// Newest first; nil when whoever made the report keeps none.
  package var events: [Event]?
  /// What is left of the token's life.
  package var token: Int64?
  /// Why the last request to the token provider gave none; nil when it gave one.
  package var tokenTrouble: String?
  /// For how long no token has come.
  package var tokenTroubleSince: Int64?
  /// Nil when the last update was accepted, or there was none.
  package var failure: Failure?
  /// By how much this machine's clock is ahead, when it is wrong by half a minute or more.
  package var clockOffset: Int64?
  /// For how long there has been no network; nil when there is one, or nobody can tell.
  package var withoutNetwork: Int64?
  /// What could not be sent yet.
  package var backlog: Backlog
  /// Nil as long as the date is not known, and when the sender of the report leaves it out.
  package var traffic: Traffic?
  /// What became of the last fix.
  package var explanation: Explanation
  /// Counts since the start, by name.
  package var counters: [String: Int]
}
