// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// A temporary fault; its times are seconds since boot.
struct Fault: Sendable {
  /// What happens to each request on a bad connection; the server behind it does not receive the request.
  enum BadConnection: Sendable, CaseIterable {
    case refused, reset, headersTooLarge, answeredEarly, internalError, unavailable
  }

  /// How the compact form is rejected.
  enum FormRefusal: Sendable {
    /// With this HTTP status and google.rpc.Status.
    case status(Int, String)
    /// With this HTTP status and a web page, as gateways and firewalls do.
    case page(Int)
  }

  enum Kind: Sendable {
    // The network.
    /// The name servers do not answer: each lookup fails only at its deadline.
    case nameServersDead
    case unresolved
    case unreachable
    /// Packets are dropped, as in a tunnel.
    case silent
    /// This fraction of the requests, or of their responses, is lost.
    case loss(Double)
    /// The server receives requests, but its responses are lost.
    case answersLost
    /// Packets of requests with past locations are dropped.
    case dropsPast
    /// A captive portal: a web page for every request.
    case captivePortal
    case certificateNotYetValid
    /// The minimum latency in milliseconds in each direction; the maximum is twice as long.
    case latency(Int)
    /// Responses arrive only when their requests have been cancelled and later requests are in flight.
    case answersLate
    /// Bytes that can be sent per second.
    case bandwidth(Int)

    // Fleet Engine.
    /// Fleet Engine takes this many seconds to respond.
    case slow(Int)
    /// Fleet Engine responds with this HTTP status, status of google.rpc.Status, `Retry-After` and RetryInfo.
    case answers(Int, String, retryAfter: String? = nil, retryInfo: String? = nil)
    /// This fraction of the requests, chosen at random, get this response, whatever they contain.
    case answersSometimes(Double, Int, String)
    /// Fleet Engine, or a gateway in front of it, rejects this fraction of the compact updates, chosen at random, and
    /// accepts plain ones.
    case refusesCompact(Double, FormRefusal)
    /// Denies requests with past locations: 403 PERMISSION_DENIED.
    case deniesPast
    /// Rejects requests with past locations as invalid: 400 INVALID_ARGUMENT.
    case rejectsPast
    /// Fails on requests with past locations, with this HTTP status and status of google.rpc.Status.
    case failsPast(Int, String)
    /// Fails on past locations whose second since boot is one of these: 500 INTERNAL.
    case failsPositions(Set<Int>)
    /// Rejects requests with more past locations than this.
    case mostPast(Int)
    /// Rejects requests whose body has more bytes than this.
    case mostBytes(Int)
    /// Rejects live and past locations whose second since boot is one of these.
    case rejectsLivePositions(Set<Int>)
    /// Rejects past locations whose second since boot is one of these.
    case rejectsPositions(Set<Int>)
    /// Rejects past locations that it already has.
    case refusesRepeats
    /// Rejects locations of a vehicle that is OFFLINE.
    case refusesOfflinePositions
    /// Rejects every token that was issued before the fault's start.
    case revoked
    /// The `Date` of the server's responses has this error in seconds.
    case serverClock(Int64)
    /// For this fraction of the requests on a reused connection, the connection is closed without a byte of a response,
    /// although the server has received the request: it applies the request within this many seconds.
    case closedUnanswered(Double, appliedWithin: Int)
    /// The connection in use at the beginning is bad, and so is each `every`th after it. Runs without HTTP/2 can have
    /// this fault too.
    case badConnections(every: Int, BadConnection)

    // The token provider.
    /// The `Date` of the provider's responses has this error in seconds.
    case providerClock(Int64)
    /// The provider's responses have no `Date`, and the `iat` of its tokens is this many seconds in the past.
    case providerUndated(backdating: Int64)
    case providerDown
    case providerAnswers(Int)
    case providerWebPage
    /// The tokens are for another vehicle.
    case providerForeign
    /// The tokens have already expired.
    case providerStale

    // The receiver.
    case noFix
    /// The timestamps are ahead by this many seconds.
    case ahead(Int)
    /// The timestamps are behind by this many seconds.
    case behind(Int)
    /// The date is that of the first day of GPS time.
    case undated
    /// The position is wrong by this many metres.
    case jump(Double)
    case twice
    /// Of each pair of epochs, the later one arrives first.
    case swapped
    /// All data is delayed, and arrives at once at the end.
    case heldBack
    case noTime

    // The line from the receiver to its port.
    /// This fraction of the bytes is changed.
    case noise(Double)
    /// This fraction of the bytes is lost, a few in a row.
    case bytesLost(Double)
    /// The receiver sends at this baud rate.
    case speed(Int)
    /// The device is unplugged.
    case unplugged
    /// The receiver sends nothing.
    case mute

    /// Another daemon on this machine uses this vehicle, and locks it when no other process has locked it.
    case otherDaemon(vehicle: String)

    // The settings; at random only for seeds after `Scenario.lastOfFirstRange`.
    /// The settings files contain a mistake. If it may concern the vehicle, the kept settings are not used.
    case settingsWrong(mayConcernVehicle: Bool)
    /// The service may not read the settings files.
    case settingsUnreadable
    /// There are no settings files.
    case settingsDeleted
    /// A credential that the settings name is missing.
    case credentialMissing
    /// A certificate that the settings name cannot be used.
    case settingsUnusable

    /// The disk is full, so the store cannot be written.
    case diskFull
    /// Every operation on the store's file fails.
    case diskFails
    /// The store's file is found damaged, once.
    case diskDamaged
    /// The store's file is deleted while it is open, once.
    case diskDeleted
  }

  var kind: Kind
  var from: Int
  var until: Int
  /// The index of the receiver or line that the fault affects.
  var source: Int

  init(_ kind: Kind, _ seconds: Range<Int>, of source: Int = 0) {
    self.kind = kind
    self.source = source
    from = seconds.lowerBound
    until = seconds.upperBound
  }

  func isActive(at second: Double) -> Bool { Double(from) <= second && second < Double(until) }

  enum Place: Sendable { case network, server, provider, receiver, line, disk, machine, settings }

  var place: Place {
    switch kind {
    case .nameServersDead, .unresolved, .unreachable, .silent, .loss, .answersLost, .dropsPast, .captivePortal,
      .certificateNotYetValid, .latency, .answersLate, .bandwidth:
      .network
    case .slow, .answers, .answersSometimes, .refusesCompact, .deniesPast, .rejectsPast, .failsPast, .failsPositions,
      .mostPast, .mostBytes, .rejectsPositions, .rejectsLivePositions, .refusesRepeats, .refusesOfflinePositions,
      .revoked, .serverClock, .badConnections, .closedUnanswered:
      .server
    case .providerDown, .providerAnswers, .providerWebPage, .providerForeign, .providerStale, .providerClock,
      .providerUndated:
      .provider
    case .noFix, .ahead, .behind, .undated, .jump, .twice, .swapped, .heldBack, .noTime: .receiver
    case .noise, .bytesLost, .speed, .unplugged, .mute: .line
    case .diskFull, .diskFails, .diskDamaged, .diskDeleted: .disk
    case .otherDaemon: .machine
    case .settingsWrong, .settingsUnreadable, .settingsDeleted, .credentialMissing, .settingsUnusable: .settings
    }
  }
}
