// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import CLinux
import Glibc
import SystemCalls
import Timekeeping
package import Varlink

/// Serves requests on a Unix socket: Varlink calls, one after the other, or one line, after whose response the
/// connection is closed.
///
/// The socket file is for its owner and group (0660). If that is the daemon's own group, the peer credentials are
/// checked as well, in case the mode is too permissive. Requests are short, and connections are limited in number per
/// user and in time. If all connections of a user are in use, the oldest one without a request is closed to make room
/// for the next: idle connections block neither other users nor their own user.
package final class ControlServer {
  private static let maximumClients = 16
  private static let maximumClientsPerUser = 4
  /// The maximum number of clients that monitor, and so get any number of replies; they do not count towards
  /// `maximumClients`.
  package static let maximumMonitors = 16
  /// The maximum number of bytes that are queued for one monitor.
  private static let maximumQueuedBytes = 65_536
  private static let limits = ControlConnection.Limits(request: .seconds(2), exchange: .seconds(5), requestSize: 4096)
  /// Pause after accept(2) failed because of a lack of descriptors or memory: the socket stays readable, and the loop
  /// would spin.
  private static let acceptRetryDelay = Duration.seconds(1)

  private let loop: EventLoop
  private let path: String
  private let respond: (MessageFraming.Message, ControlConnection) -> Void
  private let isForOwnGroup: Bool
  private let descriptor: Descriptor
  /// The socket file.
  private let file: Inode?
  private var source: EventSource<IOEvents>?
  private var resumeTimer: LoopTimer?
  /// Oldest first.
  private var clients: [ControlConnection] = []
  /// Clients that monitor, and so get an endless series of replies.
  private var monitors: [ControlConnection] = []
  /// The number of monitors that were disconnected because they did not read.
  package private(set) var droppedMonitors = 0
  /// Called when the last monitor has disconnected.
  package var onLastMonitorGone: (() -> Void)?

  /// Listens at `path`, replacing the socket that a dead process has left.
  ///
  /// - Parameters:
  ///   - path: at most 107 bytes.
  ///   - isForOwnGroup: whether only root and the daemon's own user and group may connect. Otherwise the file's
  ///     directory and mode decide: in the service's user namespace, all other users and groups look the same.
  ///   - respond: handles a request, and calls `answer` of its connection, at once or later; request and reply are
  ///     without their terminators.
  /// - Throws: code `failed`.
  package init(
    loop: EventLoop, path: String, isForOwnGroup: Bool = true,
    respond: @escaping (MessageFraming.Message, ControlConnection) -> Void
  ) throws(ControlSocketError) {
    self.loop = loop
    self.path = path
    self.respond = respond
    self.isForOwnGroup = isForOwnGroup
    do {
      descriptor = try UnixSocket.make(Int32(SOCK_NONBLOCK.rawValue))
      let rawValue = descriptor.rawValue
      _ = unsafe unlink(path)
      // The mode is right from the start, so that there is no gap between bind and chmod.
      let mask = umask(0o117)
      defer { umask(mask) }
      try unsafe UnixSocket.withAddress(path) { unsafe bind(rawValue, $0, $1) }
      _ = try Errno.retrying { listen(rawValue, 8) }
      file = Inode(of: path)
    } catch {
      throw ControlSocketError(.failed, "\(path): the socket cannot be made: \(error)", cause: error)
    }
    do {
      resumeTimer = try loop.makeTimer { [unowned self] in source?.resume() }
      source = try loop.addIO(descriptor.rawValue, .readable) { [unowned self] _ in accept() }
    } catch {
      throw ControlSocketError(.failed, "\(path): \(error.message)", cause: error.cause)
    }
  }

  isolated deinit {
    source?.close()
    resumeTimer?.close()
    if isInPlace { _ = unsafe unlink(path) }
  }

  /// Whether clients can connect: the socket file is still the one that was made.
  package var isInPlace: Bool { file != nil && file == Inode(of: path) }

  private func accept() {
    let rawValue = fleet_accept(descriptor.rawValue)
    guard rawValue >= 0 else {
      // After any other error the client has disconnected.
      if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) { pause() }
      return
    }
    let connection = Descriptor(owning: rawValue)
    guard let user = user(of: rawValue), makeRoom(for: user) else { return }
    guard let client = ControlConnection(loop, connection, user: user, limits: ControlServer.limits) else {
      return pause()
    }
    clients.append(client)
    client.begin(respond: respond) { [weak self, weak client] in
      self?.clients.removeAll { $0 === client }
      self?.removeMonitor(client)
    }
  }

  // MARK: - Monitors

  /// The number of clients that monitor.
  package var monitorCount: Int { monitors.count }

  /// From now on the client monitors; `first` is its first reply. Ignored if the client has disconnected.
  package func monitor(_ client: ControlConnection, first: [UInt8]) {
    clients.removeAll { $0 === client }
    guard client.isOpen else { return }
    monitors.append(client)
    client.stream(first, limit: ControlServer.maximumQueuedBytes)
  }

  /// Sends a reply to all monitors. A monitor that does not read is disconnected.
  package func publish(_ reply: [UInt8]) {
    for client in monitors where !client.add(reply) {
      droppedMonitors += 1
      client.close()
    }
  }

  private func removeMonitor(_ client: ControlConnection?) {
    guard let index = monitors.firstIndex(where: { $0 === client }) else { return }
    monitors.remove(at: index)
    if monitors.isEmpty { onLastMonitorGone?() }
  }

  private func pause() {
    source?.pause()
    resumeTimer?.arm(at: loop.now.boot + ControlServer.acceptRetryDelay)
  }

  /// - Returns: whether another connection of this user is allowed.
  private func makeRoom(for user: uid_t) -> Bool {
    let own = clients.filter { $0.user == user }
    if own.count >= ControlServer.maximumClientsPerUser {
      guard let idle = own.first(where: \.isIdle) else { return false }
      idle.close()
    }
    return clients.count < ControlServer.maximumClients
  }

  /// - Returns: the connected user; nil if it may not connect.
  private func user(of rawValue: Int32) -> uid_t? {
    guard let peer = try? UnixSocket.peer(of: rawValue) else { return nil }
    if !isForOwnGroup || peer.user == 0 || peer.user == geteuid() || peer.group == getegid() { return peer.user }
    var groups = [gid_t](repeating: 0, count: 256)
    var length = socklen_t(groups.count * MemoryLayout<gid_t>.size)
    guard unsafe getsockopt(rawValue, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 else { return nil }
    return groups.prefix(Int(length) / MemoryLayout<gid_t>.size).contains(getegid()) ? peer.user : nil
  }
}
