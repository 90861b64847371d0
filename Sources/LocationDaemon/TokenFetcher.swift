// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import EventLoop
import HelperProgram
import HTTPMessages
import ServiceManager
import Timekeeping
import SystemCalls

/// Performs the core's token requests: by HTTP, program or file.
final class TokenFetcher {
  private let loop: EventLoop
  private let exchanges: ExchangeTable
  private var programs: [UInt64: HelperProgram] = [:]
  private var pendingReads: Set<UInt64> = []
  private var watched: (path: String, watch: PathWatch)?
  /// The files that contain the secrets of headers, by the name of the header.
  private var secretFiles: [String: String] = [:]
  /// The origin (scheme, host and port) of the provider to which these secrets may be sent.
  private var secretOrigin = ""

  /// - Parameter exchanges: performs the HTTP requests.
  init(loop: EventLoop, exchanges: ExchangeTable) {
    self.loop = loop
    self.exchanges = exchanges
  }

  /// - Parameter completion: called once, in a later iteration of the loop, unless the request is cancelled.
  func start(_ id: UInt64, _ request: TokenRequest, completion: @escaping (TokenOutcome) -> Void) {
    switch request {
    case .http(let request):
      exchanges.start(id, withCurrentSecrets(request)) { [weak exchanges] in
        exchanges?.requestEnded(id)
        completion(.http($0))
      }
    case .command(let invocation):
      programs[id] = HelperProgram(
        loop: loop, arguments: invocation.arguments, environment: invocation.environment,
        deadline: invocation.deadline, maximumOutputSize: invocation.maximumOutputSize
      ) { [weak self] result in
        self?.programs[id] = nil
        completion(.command(TokenCommand.Outcome(result, showing: invocation.environment.map(\.value))))
      }
    case .file(let path):
      pendingReads.insert(id)
      loop.defer { [weak self] in
        guard let self, pendingReads.remove(id) != nil else { return }
        completion(.file(TokenFile.Outcome(reading: path, at: loop.now.wall)))
      }
    }
  }

  /// Applies new settings: which headers have their secret in a file, and the origin to which they may be sent.
  func configure(_ settings: Settings.Token, _ provider: TokenProvider) {
    secretFiles = [:]
    guard case .http(let endpoint) = provider else { return }
    secretOrigin = TokenFetcher.origin(of: endpoint.urlTemplate)
    for case (let name, .file(let path)) in settings.headers.map({ ($0.name, $0.valueSource) }) {
      secretFiles[name] = path
    }
  }

  /// The request with the current contents of the secret files, because secrets are rotated. A secret that cannot be
  /// read is left unchanged.
  private func withCurrentSecrets(_ request: HTTPRequest) -> HTTPRequest {
    // A request from before a reload may go to another provider.
    guard TokenFetcher.origin(of: request.url) == secretOrigin else { return request }
    var request = request
    for index in request.headers.indices {
      guard let path = secretFiles[request.headers[index].name], let secret = try? Credentials().secret(inFile: path)
      else { continue }
      request.headers[index].value = .secret(prefix: "", secret)
    }
    return request
  }

  /// The origin, as in `https://host:port`; this part has no placeholders.
  private static func origin(of url: String) -> String {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.prefix(3).joined(separator: "/").prefix { $0 != "?" && $0 != "#" }.lowercased()
  }

  func cancel(_ id: UInt64) {
    exchanges.cancel(id)
    programs.removeValue(forKey: id)?.cancel()
    pendingReads.remove(id)
  }

  /// Ends every running program, so that none outlives the daemon.
  func endPrograms() {
    for program in programs.values { program.cancel() }
    programs = [:]
  }

  /// Watches the token file, if the token comes from a file.
  ///
  /// - Parameter onChange: called after the file was written, replaced or made readable.
  func watch(_ provider: TokenProvider, onChange: @escaping () -> Void) {
    guard case .file(let file) = provider else {
      watched?.watch.close()
      watched = nil
      return
    }
    guard watched?.path != file.path else { return }
    watched?.watch.close()
    watched = (
      file.path,
      PathWatch(loop: loop, path: file.path, events: [.appeared, .attributes, .written], onChange: onChange)
    )
  }
}

extension TokenCommand.Outcome {
  fileprivate init(_ result: HelperProgram.Result, showing names: [String]) {
    let ending: Ending =
      switch result.ending {
      case .exited(let code): .exited(code)
      case .killed(let signal): .killed(signal)
      case .timedOut: .timedOut
      case .tooLarge: .tooLarge
      case .notStarted(let why): .notStarted(why)
      }
    self.init(ending, output: result.output, errors: result.errors, showing: names)
  }
}

extension TokenFile.Outcome {
  fileprivate init(reading path: String, at wall: Timestamp) {
    do {
      let (text, modified) = try Credentials().token(inFile: path)
      self = .text(text, age: wall - modified)
    } catch {
      self = .unreadable(reason: error.code.rawValue, error.message)
    }
  }
}
