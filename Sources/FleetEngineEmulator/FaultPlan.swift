// SPDX-License-Identifier: Apache-2.0

/// The active faults. The first fault that matches a request applies to it, unless a command of the map has cut the
/// network: then nothing is answered.
package struct FaultPlan: Sendable {
  private(set) var faults: [Fault] = []
  private var lastID = 0

  package init() {}

  /// Steady milliseconds when the next fault ends; nil if none ends by time.
  var nextEnd: Int64? { faults.compactMap(\.end).min() }

  /// Adds a fault. A fault of a map command is inserted first, and replaces an earlier fault of the same command and
  /// vehicle; other faults are appended.
  package mutating func add(_ fault: Fault) {
    lastID += 1
    var fault = fault
    fault.id = lastID
    if fault.commandName.isEmpty {
      faults.append(fault)
    } else {
      faults.removeAll { $0.commandName == fault.commandName && $0.vehicle == fault.vehicle }
      faults.insert(fault, at: 0)
    }
  }

  /// Removes all faults.
  package mutating func clear() {
    faults.removeAll()
  }

  /// Removes the faults whose duration has elapsed.
  ///
  /// - Returns: the removed faults.
  mutating func removeExpired(at now: ServerTime) -> [Fault] {
    let expired = faults.filter { fault in fault.end.map { $0 <= now.steady } ?? false }
    faults.removeAll { fault in expired.contains { $0.id == fault.id } }
    return expired
  }

  /// Returns the fault for a request, and counts its use.
  ///
  /// - Parameter features: the features of the request.
  package mutating func consume(
    _ target: Fault.Target, vehicle: String, features: Set<Fault.Feature> = [], at now: ServerTime
  ) -> Fault? {
    let matching = faults.indices.filter { index in
      let fault = faults[index]
      return fault.target.covers(target) && (fault.feature.map { features.contains($0) } ?? true)
        && (fault.vehicle ?? vehicle) == vehicle && fault.end.map { $0 > now.steady } ?? true
    }
    let cut = matching.first { !faults[$0].commandName.isEmpty && faults[$0].silence != nil }
    guard let index = cut ?? matching.first else { return nil }
    let fault = faults[index]
    if let times = fault.times {
      faults[index].times = times - 1
      if times <= 1 { faults.remove(at: index) }
    }
    return fault
  }
}
