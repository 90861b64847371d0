// SPDX-License-Identifier: Apache-2.0
import Configuration
import JSON

/// The answers to the questions of `setup`, and the settings file that is made from them.
struct SetupAnswers: Equatable {
  /// Where positions come from.
  enum Source: Equatable {
    /// The path of a receiver's device.
    case serial(String)
    /// The gpsd of this machine.
    case gpsd
    /// The first modem of ModemManager with a receiver.
    case modemManager
    /// A simulated drive along the route in this file.
    case simulated(String)

    /// - Parameter text: a device, `gpsd`, `modemmanager`, or a route that ends in .gpx, .geojson or .json.
    /// - Returns: nil for anything else.
    init?(_ text: String) {
      switch text {
      case "gpsd": self = .gpsd
      case "modemmanager": self = .modemManager
      case _ where text.hasPrefix("/dev/"): self = .serial(text)
      case _ where text.hasPrefix("/") && [".gpx", ".geojson", ".json"].contains(where: text.hasSuffix):
        self = .simulated(text)
      default: return nil
      }
    }

    /// The text that the option `--source` accepts for it.
    var text: String {
      switch self {
      case .serial(let path), .simulated(let path): path
      case .gpsd: "gpsd"
      case .modemManager: "modemmanager"
      }
    }
  }

  /// The questions, in the order in which they are asked.
  enum Question: String, CaseIterable {
    case source, service, provider, vehicle
    case tokenURL = "token-url"
    case response, endpoint

    /// The setting that the answer sets.
    fileprivate var key: String {
      switch self {
      case .source: "source"
      case .service: "vehicle.service"
      case .provider: "vehicle.provider_id"
      case .vehicle: "vehicle.vehicle_id"
      case .tokenURL: "token.url"
      case .response: "token.response"
      case .endpoint: "fleet_engine.endpoint"
      }
    }
  }

  var source: Source?
  /// `deliveries` or `trips`.
  var service: String?
  var provider: String?
  var vehicle: String?
  var tokenURL: String?
  /// The format of the token provider's response; nil for that of Google's sample backend for the service.
  var response: String?
  /// The endpoint; nil for Google's.
  var endpoint: String?
  /// Whether requests for a token contain the credential.
  var hasCredential = false

  /// The name of the credential, in the settings and in the unit.
  static let credentialName = "token-provider"

  /// The settings file; questions without an answer are left out.
  var tomlText: String {
    var text = """
      # Written by "\(CommandLineTool.name) setup". Every setting: man fleet-locationd.toml

      [vehicle]

      """
    func line(_ key: String, _ value: String?) {
      guard let value else { return }
      text += "\(key) = \(SetupAnswers.quoted(value))\n"
    }
    line("provider_id", provider)
    line("vehicle_id", vehicle)
    line("service", service)
    text += "\n[source]\n"
    switch source {
    case .serial(let path):
      line("type", "serial")
      line("device", path)
      line("baud", "auto")
    case .gpsd: line("type", "gpsd")
    case .modemManager: line("type", "modemmanager")
    case .simulated(let path):
      line("type", "simulated")
      line("route", path)
    case nil: break
    }
    text += "\n[token]\n"
    line("url", tokenURL)
    line("response", response ?? (service == "trips" ? "rides-stub" : "lmfs"))
    if hasCredential { text += "headers = { Authorization = { credential = \"\(SetupAnswers.credentialName)\" } }\n" }
    if let endpoint {
      text += "\n[fleet_engine]\n"
      line("endpoint", endpoint)
    }
    return text
  }

  /// A TOML basic string; JSON's escapes are valid in TOML.
  private static func quoted(_ text: String) -> String {
    String(decoding: JSONValue.string(text).encoded, as: UTF8.self)
  }

  // MARK: - Answers

  /// Sets an answer.
  ///
  /// - Returns: why it cannot be used; nil if it can.
  mutating func set(_ question: Question, to text: String) -> String? {
    var changed = self
    switch question {
    case .source:
      guard let source = Source(text) else {
        return
          "\"\(text)\" is not a source; expected a device such as /dev/ttyUSB0, gpsd, modemmanager, or the absolute "
          + "path of a route (.gpx, .geojson, .json) for a simulated drive"
      }
      changed.source = source
    case .service: changed.service = text
    case .provider: changed.provider = text
    case .vehicle: changed.vehicle = text
    case .tokenURL: changed.tokenURL = text
    case .response: changed.response = text
    case .endpoint: changed.endpoint = text
    }
    if let mistake = changed.mistake(in: question) { return mistake }
    self = changed
    return nil
  }

  /// What is wrong with an answer according to the daemon's own rules; nil if nothing is.
  private func mistake(in question: Question) -> String? {
    var complete = self
    complete.source = source ?? .gpsd
    complete.service = service ?? "deliveries"
    complete.provider = provider ?? "provider"
    complete.vehicle = vehicle ?? "vehicle"
    complete.tokenURL = tokenURL ?? "https://tokens.example.com/{vehicle_id}"
    do throws(ConfigurationError) {
      _ = try SettingsFile.load(path: SetupAnswers.file, environment: SetupAnswers.environment(complete.tomlText))
      return nil
    } catch {
      let own = error.diagnostics.filter { $0.key?.hasPrefix(question.key) == true }
      return own.isEmpty ? nil : own.map(\.message).joined(separator: "; ")
    }
  }

  private static let file = "/settings.toml"

  /// A machine that has only this settings file.
  private static func environment(_ text: String) -> ConfigurationEnvironment {
    ConfigurationEnvironment(
      readFile: { path, _ throws(ConfigurationEnvironment.FileProblem) in
        guard path == file else { throw .missing }
        return Array(text.utf8)
      }, listDirectory: { _ in [] }, variable: { _ in nil }, hostname: { nil })
  }

  /// The questions that are still open, in their order: without an answer, and without a default.
  var unanswered: [Question] {
    Question.allCases.filter { question in
      switch question {
      case .source: source == nil
      case .service: service == nil
      case .provider: provider == nil
      case .vehicle: vehicle == nil
      case .tokenURL: tokenURL == nil
      case .response, .endpoint: false
      }
    }
  }
}
