// SPDX-License-Identifier: Apache-2.0
import FixSources
import Positioning
import Timekeeping

/// A serial port and the line to its receiver: bytes written at one end are read in portions at the other, unless
/// there is a fault. The operations on the port are decided by its source's session in `Daemon`.
final class Port {
  struct Read {
    var at: BootInstant
    var bytes: [UInt8]
  }

  /// The ID of its source in `Daemon`.
  var id = 0
  /// Whether it receives datagrams: the data passes through a network, sentence by sentence.
  let isNetwork: Bool
  /// The modem with the receiver: ModemManager stores its sentences, and is polled. Nil for a serial port.
  var modem: SimulatedModem?
  /// When ModemManager was last polled for a position.
  var askedAt = BootInstant.boot
  /// Whether it is a connection to gpsd.
  let isGPSD: Bool
  /// Whether each epoch arrives in several portions, as from a UART.
  let isSplit: Bool
  /// The recording, whose data is read on request (`isWatched`); nil for a receiver.
  let recording: Scenario.Recording?
  /// The contents of the recording's file.
  var file: [UInt8] = []
  let faults: [Fault]
  /// The baud rate that the port is set to; nil while it is closed.
  var baud: Int?
  var openedAt = BootInstant.boot
  var isPlugged = true
  /// Whether the recording is at its end.
  var hasEnded = false
  /// Whether the daemon has closed the port for good, and not opened it again.
  var isReleased = false
  /// The data in transit.
  var reads: [Read] = []
  /// Whether data is passed on when it arrives.
  var isWatched = true
  /// The minimum number of bytes at which data is passed on.
  var lowWaterMark = 1
  /// The data that has arrived and has not been read.
  var unread: [UInt8] = []

  /// Corrupted sentences with a valid checksum.
  var collisions = ChecksumCollisions()
  /// The number of seconds by which the replay of a recording may be late: each corrupted sentence with a valid
  /// checksum may have a wrong time, which delays the replay by up to the longest gap.
  var replayDelay: Int {
    recording == nil ? 0 : collisions.count * Int(ReplayTimeline.maximumGap.wholeSeconds)
  }
  /// Valid positions that must come out of the decoder, by the second in which they were written.
  var awaited: Set<Int> = []
  /// When each position came out of the decoder of a recording, by the second in which it was written.
  var decodedAt: [Int: BootInstant] = [:]
  /// The last second in which the receiver wrote, and the one before it; nil before that since the port was opened.
  private(set) var lastWritten: Int?
  private(set) var writtenBefore: Int?
  /// The time, in seconds since boot, of the last epoch that was transmitted completely.
  var lastWhole = 0
  /// The second since which the receiver has sent over a line without a fault; nil while it does not.
  var fineSince: Int?
  /// When the first fix without a date since the last one with a date came out of the decoder, as far as this source's
  /// filter knows.
  var datelessSince: BootInstant?
  /// The number of consecutive seconds in which a valid position was transmitted.
  var soundFor = 0
  private var random: SplitMix64

  init(
    isNetwork: Bool, isGPSD: Bool = false, isSplit: Bool = false, recording: Scenario.Recording? = nil,
    faults: [Fault], seed: UInt64
  ) {
    self.isNetwork = isNetwork
    self.isGPSD = isGPSD
    self.isSplit = isSplit
    self.recording = recording
    self.faults = faults
    random = SplitMix64(seed: seed)
  }

  /// A fix came out of the decoder.
  func noteDate(of fix: Fix, at now: BootInstant) {
    switch fix.time {
    case .utc: datelessSince = nil
    case .ofDay: datelessSince = datelessSince ?? now
    case nil: break
    }
  }

  /// Whether a fix without a date may get that of the machine's clock.
  func hasAwaitedDate(at now: BootInstant) -> Bool {
    recording != nil || datelessSince.map { now - $0 >= FixFilter.dateDelay } ?? false
  }

  /// When the next data arrives.
  var next: BootInstant { reads.first?.at ?? .distantFuture }

  func close() {
    baud = nil
    discardInput()
    (isWatched, lowWaterMark) = (recording == nil, 1)
    (lastWritten, writtenBefore) = (nil, nil)
    soundFor = 0
  }

  /// What has arrived or is in transit is lost: the port was closed, or set to another baud rate.
  func discardInput() {
    (reads, unread, awaited) = ([], [], [])
  }

  /// Whether the line has a fault in this second, or had one in the previous second.
  func isDisturbed(at second: Int) -> Bool {
    faults.contains { $0.from <= second && second <= $0.until }
  }

  /// The baud rate at which the receiver sends.
  func receiverBaudRate(at second: Int, otherwise usual: Int) -> Int {
    for fault in faults where fault.isActive(at: Double(second)) {
      if case .speed(let baud) = fault.kind { return baud }
    }
    return usual
  }

  /// The receiver writes an epoch.
  ///
  /// - Parameter receiverBaudRate: the baud rate at which it sends.
  func transmit(_ epoch: [UInt8], at second: Int, receiverBaudRate: Int) {
    guard let baud, !epoch.isEmpty else { return }
    var bytes = epoch
    if !isDisturbed(at: second) { lastWhole = second }
    if isDisturbed(at: second) {
      guard !isMute(at: second) else { return }
      for fault in faults where fault.isActive(at: Double(second)) {
        switch fault.kind {
        case .noise(let part): corrupt(&bytes, part)
        case .bytesLost(let part): drop(&bytes, part)
        default: break
        }
      }
    }
    (lastWritten, writtenBefore) = (second, lastWritten)
    if receiverBaudRate != baud { corrupt(&bytes, 1) }
    if bytes != epoch { collisions.look(at: bytes, written: epoch, at: second) }
    let pieces = max(Int.random(in: (isSplit ? 2 : -4)...3, using: &random), 1)
    var start = 0
    for piece in 1...pieces {
      var end = piece == pieces ? bytes.count : Int.random(in: start...bytes.count, using: &random)
      // A datagram contains whole sentences.
      if isNetwork { end = bytes[end...].firstIndex(of: 10).map { $0 + 1 } ?? bytes.count }
      let at = World.time(second) + .milliseconds(100 - 15 * (pieces - piece))
      if end > start {
        reads.append(Read(at: at, bytes: start == 0 && end == bytes.count ? bytes : Array(bytes[start..<end])))
      }
      start = end
    }
  }

  /// Data arrives that the receiver did not write.
  func deliver(_ bytes: [UInt8], at time: BootInstant) {
    reads.append(Read(at: time, bytes: bytes))
    reads.sort { $0.at < $1.at }
  }

  private func isMute(at second: Int) -> Bool {
    faults.contains { if case .mute = $0.kind { $0.isActive(at: Double(second)) } else { false } }
  }

  /// Whether the device file exists.
  func isThere(at second: Int) -> Bool {
    !faults.contains { if case .unplugged = $0.kind { $0.isActive(at: Double(second)) } else { false } }
  }

  /// Changes this fraction of the bytes.
  private func corrupt(_ bytes: inout [UInt8], _ part: Double) {
    for index in bytes.indices where Double.random(in: 0..<1, using: &random) < part {
      bytes[index] ^= UInt8.random(in: 1...255, using: &random)
    }
  }

  /// Removes this fraction of the bytes, a few in a row.
  private func drop(_ bytes: inout [UInt8], _ part: Double) {
    var kept: [UInt8] = []
    var missing = 0
    for byte in bytes {
      if missing == 0, Double.random(in: 0..<1, using: &random) < part / 8 {
        missing = Int.random(in: 1...16, using: &random)
      }
      if missing > 0 { missing -= 1 } else { kept.append(byte) }
    }
    bytes = kept
  }
}
