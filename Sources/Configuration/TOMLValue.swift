// SPDX-License-Identifier: Apache-2.0

/// A value of a TOML text, with its position.
struct TOMLValue: Equatable, Sendable {
  enum Content: Equatable, Sendable {
    case string(String)
    case integer(Int64)
    case float(Double)
    case boolean(Bool)
    /// A date, a time of day or both; no setting has this type.
    case dateTime
    case array([TOMLValue])
    case table([String: Member])
  }

  /// A key of a table and its value.
  struct Member: Equatable, Sendable {
    let keyPosition: SourcePosition
    var value: TOMLValue
  }

  var content: Content
  let position: SourcePosition

  /// The members if this is a table, otherwise empty.
  var members: [String: Member] {
    if case .table(let members) = content { return members }
    return [:]
  }

  /// Its type with an article, for a sentence.
  var typeName: String {
    switch content {
    case .string: "a string"
    case .integer: "a whole number"
    case .float: "a number"
    case .boolean: "true or false"
    case .dateTime: "a date or time"
    case .array: "an array"
    case .table: "a table"
    }
  }

  /// These settings without some keys of sections.
  func removing(_ keys: [(section: SettingSection, name: String)]) -> TOMLValue {
    guard !keys.isEmpty, case .table(var sections) = content else { return self }
    for (section, name) in keys {
      guard var member = sections[section.rawValue], case .table(var members) = member.value.content else { continue }
      members[name] = nil
      member.value.content = .table(members)
      sections[section.rawValue] = member
    }
    var root = self
    root.content = .table(sections)
    return root
  }

  /// Merges a later file into this one: a key of the later file replaces the same key of this one; two tables that
  /// `merges` names are merged key by key.
  ///
  /// - Parameter merges: whether the table of this path (`[]` is the root) is merged rather than replaced.
  func merged(with later: TOMLValue, path: [String] = [], merges: ([String]) -> Bool) -> TOMLValue {
    guard case .table(var members) = content, case .table(let laterMembers) = later.content, merges(path) else {
      return later
    }
    for (name, member) in laterMembers {
      if let earlier = members[name] {
        members[name] = Member(
          keyPosition: member.keyPosition,
          value: earlier.value.merged(with: member.value, path: path + [name], merges: merges))
      } else {
        members[name] = member
      }
    }
    return TOMLValue(content: .table(members), position: position)
  }
}

extension TOMLValue {
  /// A key of a later file that replaces one of an earlier file.
  struct Replacement: Equatable, Sendable {
    /// Such as `["vehicle", "vehicle_id"]`.
    let path: [String]
    let earlier: TOMLValue
    let later: TOMLValue
  }

  /// What `merged` would replace, in the order of the names.
  func replacements(by later: TOMLValue, path: [String] = [], merges: ([String]) -> Bool) -> [Replacement] {
    guard case .table(let members) = content, case .table(let laterMembers) = later.content, merges(path) else {
      return [Replacement(path: path, earlier: self, later: later)]
    }
    return laterMembers.sorted { $0.key < $1.key }.flatMap { name, member in
      members[name].map { $0.value.replacements(by: member.value, path: path + [name], merges: merges) } ?? []
    }
  }
}

extension TOMLValue.Content {
  /// The value as in a settings file; empty for tables and arrays.
  var literal: String {
    switch self {
    case .string(let text): "\"\(text)\""
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .boolean(let isTrue): isTrue ? "true" : "false"
    case .dateTime, .array, .table: ""
    }
  }
}
