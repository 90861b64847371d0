// SPDX-License-Identifier: Apache-2.0
import CLinux
package import EventLoop
import Glibc
import Timekeeping
import SystemCalls

/// Resolves host names without blocking the event loop.
///
/// Numeric addresses and `localhost` need no lookup. A name is resolved by glibc's getaddrinfo_a(3), which queries
/// name servers on a thread of its own, as libcurl does; the loop polls it. libcurl itself is not used, because that
/// would need its whole HTTP client. A callback is not used, because getaddrinfo_a would make it in a signal handler or
/// on another thread. A lookup that outlives its caller is reused by the next one, so that dead name servers do not
/// accumulate threads.
@safe package final class HostLookup {
  private static let pollInterval = Duration.milliseconds(50)

  private let loop: EventLoop
  /// Host and port, for messages.
  package let name: String
  private let host: String
  private let port: String
  private var lookup: OpaquePointer?
  private var timer: LoopTimer?
  private var completion: ((Result<[SocketAddress], StreamSocketError>) -> Void)?

  /// - Parameter host: a name or an address; an IPv6 address without brackets.
  package init(loop: EventLoop, host: String, port: Int) {
    self.loop = loop
    self.host = host
    self.port = String(port)
    name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    unsafe lookup = nil
  }

  isolated deinit {
    timer?.close()
    if let lookup = unsafe lookup { unsafe fleet_lookup_end(lookup) }
  }

  /// Checks whether there are addresses; the completion handler is called in a later iteration of the loop with the
  /// error, or nil.
  package func probe(_ completion: @escaping (StreamSocketError?) -> Void) {
    resolve { result in
      if case .failure(let error) = result { completion(error) } else { completion(nil) }
    }
  }

  /// Resolves the addresses; the completion handler is called in a later iteration of the loop, and never after
  /// `cancel`.
  func resolve(_ completion: @escaping (Result<[SocketAddress], StreamSocketError>) -> Void) {
    self.completion = completion
    if let addresses = SocketAddress.withoutLookup(host: host, port: port) {
      loop.defer { [weak self] in self?.complete(.success(addresses)) }
      return
    }
    // The failure of an abandoned lookup may be from before the network came back.
    if let finished = unsafe lookup, unsafe !fleet_lookup_is_running(finished), unsafe fleet_lookup_error(finished) != 0
    {
      unsafe fleet_lookup_end(finished)
      unsafe lookup = nil
    }
    if unsafe lookup == nil { unsafe lookup = fleet_lookup_start(host, port) }
    do {
      if timer == nil { timer = try loop.makeTimer { [weak self] in self?.poll() } }
    } catch {
      let failure = StreamSocketError(.failed, "\(name): \(error.message)", cause: error.cause)
      loop.defer { [weak self] in self?.complete(.failure(failure)) }
      return
    }
    timer?.arm(at: .boot)
  }

  /// The result is no longer needed; a lookup in progress continues for the next caller.
  func cancel() {
    completion = nil
    timer?.disarm()
  }

  private func poll() {
    guard let running = unsafe lookup else {
      complete(.failure(StreamSocketError(.failed, "\(name): there is no memory or thread to look up the name")))
      return
    }
    if unsafe fleet_lookup_is_running(running) {
      timer?.arm(at: loop.now.boot + HostLookup.pollInterval)
      return
    }
    let code = unsafe fleet_lookup_error(running)
    let addresses = unsafe SocketAddress.all(in: fleet_lookup_result(running))
    unsafe fleet_lookup_end(running)
    unsafe lookup = nil
    if code == 0, !addresses.isEmpty {
      complete(.success(addresses))
    } else {
      let why = code == 0 ? "no address" : unsafe String(cString: gai_strerror(code))
      complete(.failure(StreamSocketError(.unknownHost, "\(name): the name cannot be looked up: \(why)")))
    }
  }

  private func complete(_ result: Result<[SocketAddress], StreamSocketError>) {
    let completion = completion
    self.completion = nil
    completion?(result)
  }
}
