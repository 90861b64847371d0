// SPDX-License-Identifier: Apache-2.0

extension SettingsBuilder {
  /// All sources; nil when one is wrong.
  mutating func sources() -> [Settings.Source]? {
    var sources: [Settings.Source] = []
    for index in 0..<reader.sourceCount {
      reader.select(source: index)
      guard let source = source() else { continue }
      if reader.sourceCount > 1 { check(source, after: sources) }
      sources.append(source)
    }
    return sources.count == reader.sourceCount ? sources : nil
  }

  /// What only matters where there are several.
  private mutating func check(_ source: Settings.Source, after others: [Settings.Source]) {
    if let endless = others.firstIndex(where: \.isEndless) {
      reader.warning(
        about: SettingKeys.sourceType,
        "comes after source[\(endless + 1)], a simulated drive with loop = true, which gives positions for ever, so that this "
          + "one is not used; put the simulated one last")
    }
    switch source.kind {
    case .serial(let device, _):
      let isTaken = others.contains { if case .serial(device, _) = $0.kind { true } else { false } }
      if isTaken { reader.problem(with: SettingKeys.device, "is the device of another source; a port has one reader") }
    case .replay(let replay):
      if replay.pace == 0 {
        reader.problem(
          with: SettingKeys.pace,
          "is 0, as fast as positions are delivered, which is for a recording that is the only source; allowed: more than 0"
        )
      } else if replay.time == .keep {
        reader.problem(
          with: SettingKeys.time,
          "\"keep\" is for a recording that is the only source: its times do not go with those of the others; "
            + "allowed: \"shift\"")
      }
      if replay.file == "-",
        others.contains(where: { if case .replay(let other) = $0.kind { other.file == "-" } else { false } })
      {
        reader.problem(with: SettingKeys.file, "is standard input, which another source reads")
      }
    case .gpsd, .simulated: break
    }
  }

  private mutating func source() -> Settings.Source? {
    let type = reader.read(SettingKeys.sourceType)
    reader.checkSourceNames(type: type)
    let silence = reader.read(SettingKeys.silenceTimeout)
    let kind: Settings.Source.Kind?
    switch type {
    case .serial: kind = serial()
    case .gpsd: kind = gpsd()
    case .simulated: kind = simulated()
    case .replay: kind = replay()
    case nil: kind = nil
    }
    guard let silence, let kind else { return nil }
    return Settings.Source(kind: kind, silenceTimeout: silence)
  }

  private mutating func serial() -> Settings.Source.Kind? {
    let (device, baud) = (reader.read(SettingKeys.device), reader.read(SettingKeys.baud))
    guard let device, let baud else { return nil }
    return .serial(device: device, baud: baud)
  }

  private mutating func gpsd() -> Settings.Source.Kind? {
    let (address, device) = (reader.read(SettingKeys.address), reader.read(SettingKeys.gpsdDevice))
    guard var address else { return nil }
    if let device {
      if let other = address.device, other != device {
        reader.problem(with: SettingKeys.gpsdDevice, "is not the receiver that `address` names, \"\(other.printable)\"")
      }
      address.device = device
    }
    return .gpsd(address)
  }

  private mutating func simulated() -> Settings.Source.Kind? {
    let (route, speed) = (path(SettingKeys.route), reader.read(SettingKeys.speed))
    let (loop, noise) = (reader.read(SettingKeys.loop), reader.read(SettingKeys.noise))
    let (seed, offset) = (reader.read(SettingKeys.seed), reader.read(SettingKeys.clockOffset))
    let (gain, loss) = (reader.read(SettingKeys.acceleration), reader.read(SettingKeys.braking))
    let (cornering, stops) = (reader.read(SettingKeys.cornering), reader.read(SettingKeys.stops))
    let (tunnels, canyons) = (reader.read(SettingKeys.tunnels), reader.read(SettingKeys.canyons))
    let (pace, headStart) = (reader.read(SettingKeys.drivePace), reader.read(SettingKeys.headStart))
    guard let route, let loop, let noise, let seed, let offset, let gain, let loss, let cornering else { return nil }
    guard let pace, let headStart else { return nil }
    return .simulated(
      Settings.Source.Simulated(
        route: route, speed: speed, acceleration: gain, braking: loss, cornering: cornering, pace: pace,
        headStart: headStart, loop: loop, noise: noise, seed: UInt64(clamping: seed), clockOffset: offset,
        stops: stops ?? [], tunnels: tunnels ?? [], canyons: canyons ?? []))
  }

  private mutating func replay() -> Settings.Source.Kind? {
    let written = reader.read(SettingKeys.file)
    let (pace, time) = (reader.read(SettingKeys.pace), reader.read(SettingKeys.time))
    guard let written, let pace else { return nil }
    let file = written == "-" ? written : written.relativePath(in: directory)
    return .replay(Settings.Source.Replay(file: file, pace: pace, time: time ?? (pace > 0 ? .shift : .keep)))
  }
}

extension Settings.Source {
  /// Whether it gives positions for ever, without a tunnel that would let another one take over.
  fileprivate var isEndless: Bool {
    if case .simulated(let simulated) = kind { simulated.loop && simulated.tunnels.isEmpty } else { false }
  }
}
