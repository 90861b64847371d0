// SPDX-License-Identifier: Apache-2.0
import Reporting
import Delivery
import Authorization
import Vehicle
import FleetEngine
import HTTPMessages
import Positioning
import SystemCalls

extension Settings {
  /// Reads all settings. If the reader then has problems, the settings must not be used.
  init(_ reader: inout SettingsReader) {
    self.init()
    reader.reportUnknownKeys()
    for section in SettingSection.allCases { reader.read(section.keys, of: section, into: &self) }
    sources = reader.readSources()
    let draft = reader.readToken()
    token = draft.token
    agent.tokenProvider = draft.provider
    checkVehicle(&reader)
    checkReporting(&reader)
    setDerivedValues(reader.context.environment)
  }

  /// Sets the values that follow from other settings.
  private mutating func setDerivedValues(_ environment: ConfigurationEnvironment) {
    fleetEngine.client.allowsPlainHTTP = fleetEngine.endpoint.hasPrefix("http://")
    if case .http(let endpoint) = agent.tokenProvider {
      let address = try? WebAddress.parse(endpoint.urlTemplate, schemes: ["https", "http"])
      token.client.allowsPlainHTTP = address?.scheme == "http"
    }
    store.directory = store.directory ?? Environment.serviceDirectory(in: environment.variable("STATE_DIRECTORY"))
    agent.context = vehicle.tokenContext
    agent.needsNetwork = !fleetEngine.isLoopback
    agent.remoteEndpoint = fleetEngine.isLoopback ? nil : fleetEngine.endpoint
    // Only a recording that is the only source can have times that do not follow elapsed time.
    agent.filter.usesRecordedTimes = sources.allSatisfy {
      if case .replay(let replay) = $0.kind { !replay.followsElapsedTime } else { false }
    }
    agent.delivery.endpoint = FleetEngineEndpoint(
      origin: fleetEngine.endpoint, vehicle: vehicle, positionField: agent.delivery.endpoint.positionField,
      reportsState: agent.delivery.endpoint.reportsState, deadline: agent.delivery.endpoint.deadline)
    agent.delivery.floor = agent.reporting.floor
    agent.delivery.backfillInterval = agent.reporting.interval
    agent.delivery.maxBytes = store.maxBytes
  }
}
