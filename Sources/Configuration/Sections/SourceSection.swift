// SPDX-License-Identifier: Apache-2.0

/// The values of the `[source]` keys that every kind of source has.
struct SourceSection {
  /// The kind of source, such as `serial`: the `SourceSettings.type` of one of `SourceKind.all`.
  var type = ""
  var silenceTimeout = Duration.seconds(10)

  static let keys: [Setting<SourceSection>] = [
    Setting(
      "type", \.type, .choice(of: SourceKind.all.map { Swift.type(of: $0).type }, \.self), isRequired: true,
      "The kind of source. `serial`: a receiver on a serial port. `gpsd`: the receivers of a gpsd. `nmea-tcp`, `nmea-udp`: NMEA 0183 over TCP or in UDP datagrams. `modemmanager`: the receiver in a modem. `simulated`: a simulated drive along a route. `replay`: a recording."
    ),
    Setting(
      "silence_timeout", \.silenceTimeout, .duration(.seconds(2)...(.seconds(600))),
      "A source that sends nothing for this time is closed and opened again. With several sources, a source without an accepted position for this time is replaced by the next one."
    ),
  ]
}

extension SettingsReader {
  /// Reads all sources.
  mutating func readSources() -> [Settings.Source] {
    var sources: [Settings.Source] = []
    for index in 0..<sourceCount {
      select(source: index)
      var draft = SourceSection()
      let before = problems.count
      read(SourceSection.keys, of: .source, into: &draft)
      reportUnknownKeys(in: .source, of: draft.type)
      guard let kind = SourceKind.all.first(where: { type(of: $0).type == draft.type }) else { continue }
      reportKeysOfOtherChoices(in: .source, of: draft.type)
      let source = Settings.Source(kind: read(kind), silenceTimeout: draft.silenceTimeout)
      guard problems.count == before else { continue }
      if sourceCount > 1 { check(source.kind.settings, after: sources.map(\.kind)) }
      sources.append(source)
    }
    return sources
  }

  private mutating func read<Kind: SourceSettings>(_ defaults: Kind) -> SourceKind {
    var settings = defaults
    read(Kind.keys, of: .source, into: &settings)
    settings.finish(&self)
    return settings.kind
  }

  /// Checks that matter only if there are several sources.
  private mutating func check(_ settings: some SourceSettings, after others: [SourceKind]) {
    if let endlessIndex = others.firstIndex(where: \.settings.isEndless) {
      warning(
        about: \SourceSection.type,
        "comes after source[\(endlessIndex + 1)], a simulated drive with loop = true, which never ends, so that this "
          + "one is never used; put the simulated one last")
    }
    settings.check(after: others, &self)
  }
}
