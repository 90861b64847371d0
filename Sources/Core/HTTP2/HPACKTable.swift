// SPDX-License-Identifier: Apache-2.0

/// The static table (RFC 7541, appendix A), numbered from 1.
enum HPACKStaticTable {
  static let entries: [(name: String, value: String)] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
  ]
}

/// An entry of a table.
protocol HPACKEntry: Sendable {
  /// Overwrites what must not remain in memory.
  mutating func wipe()
}

/// The dynamic table of one direction of a connection (RFC 7541, section 2.3.2): newest first, bounded in bytes.
/// Evicted entries are wiped.
struct HPACKDynamicTable<Entry: HPACKEntry>: Sendable {
  /// The overhead of an entry (RFC 7541, section 4.1).
  static var overhead: Int { 32 }
  /// The default size.
  static var initialCapacity: Int { 4096 }

  /// Oldest first, with the size of each.
  private var entries: [(entry: Entry, size: Int)] = []
  private(set) var size = 0
  private(set) var capacity = initialCapacity

  var count: Int { entries.count }

  /// - Parameter index: 0 is the newest.
  subscript(index: Int) -> Entry? {
    guard index >= 0, index < entries.count else { return nil }
    return entries[entries.count - 1 - index].entry
  }

  /// The index of the newest entry for which `holds` is true.
  func firstIndex(where holds: (Entry) -> Bool) -> Int? {
    for index in entries.indices.reversed() where holds(entries[index].entry) { return entries.count - 1 - index }
    return nil
  }

  /// Adds an entry, and evicts the oldest ones if necessary; an entry that is larger than the table leaves it empty.
  ///
  /// - Parameter length: size of its name and value in bytes.
  mutating func add(_ entry: Entry, length: Int) {
    let needed = length + Self.overhead
    shrink(to: capacity - needed)
    guard needed <= capacity else { return }
    entries.append((entry, needed))
    size += needed
  }

  mutating func setCapacity(_ capacity: Int) {
    self.capacity = capacity
    shrink(to: capacity)
  }

  private mutating func shrink(to bound: Int) {
    var evictedCount = 0
    while size > bound, evictedCount < entries.count {
      size -= entries[evictedCount].size
      entries[evictedCount].entry.wipe()
      evictedCount += 1
    }
    entries.removeFirst(evictedCount)
  }

  /// Wipes every entry in place; the table cannot be used after that.
  mutating func wipe() {
    for index in entries.indices { entries[index].entry.wipe() }
  }
}
