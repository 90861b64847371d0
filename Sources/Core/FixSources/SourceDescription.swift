// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import SimulatedDrives
package import Timekeeping

/// A kind of source with its settings, as far as its session needs them.
package enum SourceDescription: Sendable {
  /// A serial port; if the baud rate is nil, it is detected.
  case serial(device: String, baud: Int?)
  /// A gpsd, on this machine or another; if the device is nil, any of its devices.
  case gpsd(address: String, isLocal: Bool, device: String?)
  /// NMEA 0183 over the network, from these addresses.
  case network(name: String, NMEANetworkSession.Transport, allow: [AddressRange])
  /// A modem's receiver.
  case modem(ModemSelection)
  /// A simulated drive; a time before the build date means that the clock is not set.
  indirect case drive(name: String, RouteSimulator, buildDate: Timestamp)
  /// A recording, played at its own speed times `pace`; 0 means as fast as its fixes are handled.
  case recording(name: String, pace: Double, shiftsTimes: Bool)

  /// The session of such a source.
  ///
  /// - Parameters:
  ///   - silenceTimeout: how long the source may be silent.
  ///   - seed: for the jitter of its retries.
  package func session(silenceTimeout: Duration, seed: UInt64) -> any SourceSession {
    switch self {
    case .serial(let device, let baud):
      SerialSession(device: device, baud: baud, silenceTimeout: silenceTimeout, seed: seed)
    case .gpsd(let address, let isLocal, let device):
      GPSDSession(address: address, isLocal: isLocal, device: device, silenceTimeout: silenceTimeout, seed: seed)
    case .network(let name, let transport, let allow):
      NMEANetworkSession(name: name, transport: transport, allow: allow, silenceTimeout: silenceTimeout, seed: seed)
    case .modem(let selection): ModemSession(selection: selection, silenceTimeout: silenceTimeout, seed: seed)
    case .drive(let name, let simulator, let buildDate):
      DriveSession(name: name, simulator: simulator, buildDate: buildDate)
    case .recording(let name, let pace, let shiftsTimes):
      ReplaySession(name: name, pace: pace, shiftsTimes: shiftsTimes)
    }
  }
}
