// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Scheduled events, ordered by time, and within one instant by the order of scheduling.
struct EventQueue<Element> {
  private struct Entry {
    var at: BootInstant
    var order: UInt64
    var element: Element

    func isBefore(_ other: Entry) -> Bool { at == other.at ? order < other.order : at < other.at }
  }

  /// A binary heap: no entry precedes its parent, which is at half its index.
  private var heap: [Entry] = []
  private var scheduled: UInt64 = 0

  /// Nil if there are no events.
  private(set) var nextTime: BootInstant?

  mutating func schedule(_ element: Element, at time: BootInstant) {
    scheduled += 1
    heap.append(Entry(at: time, order: scheduled, element: element))
    var child = heap.count - 1
    while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
    nextTime = heap[0].at
  }

  mutating func next() -> Element? {
    guard let first = heap.first else { return nil }
    defer { nextTime = heap.first?.at }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first.element }
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
    return first.element
  }
}
