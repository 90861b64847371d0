// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What will happen, in the order in which it will: by time, and in the order of scheduling within one instant.
struct EventQueue<Happening> {
  private struct Entry {
    var at: BootInstant
    var order: UInt64
    var happening: Happening

    func isBefore(_ other: Entry) -> Bool { at == other.at ? order < other.order : at < other.at }
  }

  /// A binary heap: no entry comes before its parent, which is at half its index.
  private var heap: [Entry] = []
  private var scheduled: UInt64 = 0

  /// Nil when nothing will.
  private(set) var nextTime: BootInstant?

  mutating func schedule(_ happening: Happening, at time: BootInstant) {
    scheduled += 1
    heap.append(Entry(at: time, order: scheduled, happening: happening))
    var child = heap.count - 1
    while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
    nextTime = heap[0].at
  }

  mutating func next() -> Happening? {
    guard let first = heap.first else { return nil }
    defer { nextTime = heap.first?.at }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first.happening }
    heap[0] = last
    var parent = 0
    while 2 * parent + 1 < heap.count {
      let left = 2 * parent + 1
      let right = left + 1
      let smaller = right < heap.count && heap[right].isBefore(heap[left]) ? right : left
      guard heap[smaller].isBefore(heap[parent]) else { break }
      heap.swapAt(parent, smaller)
      parent = smaller
    }
    return first.happening
  }
}
