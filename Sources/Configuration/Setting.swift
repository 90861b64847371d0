// SPDX-License-Identifier: Apache-2.0

/// A setting, declared: its key, the property that it sets, what it may be, and a sentence for the reader.
///
/// A key that is not written leaves the property as it is in a new `Root`: the default is declared there and nowhere else.
/// Parsing, the hints in error messages, `docs/settings.md` and the manual page are all made from these declarations.
struct Setting<Root>: Sendable {
  let name: String
  let target: any PartialKeyPath<Root> & Sendable
  let summary: String
  /// Whether it must be written.
  let isRequired: Bool
  /// The token provider that alone has it; nil when all do.
  let owner: String?
  let typeName: String
  let allowed: String
  /// Sets the property.
  let read: @Sendable (TOMLValue, SettingsContext, inout Root) throws(ValueProblem) -> Void
  /// The property as a settings file writes it; nil when there is nothing to write.
  let text: @Sendable (Root) -> String?

  init<Value>(
    _ name: String, _ target: any WritableKeyPath<Root, Value> & Sendable, _ kind: SettingKind<Value>,
    isRequired: Bool = false, for owner: String? = nil, _ summary: String
  ) {
    self.name = name
    self.target = target
    self.summary = summary
    self.isRequired = isRequired
    self.owner = owner
    typeName = kind.name
    allowed = kind.allowed
    read = { value, context, root throws(ValueProblem) in root[keyPath: target] = try kind.read(value, context) }
    text = { root in kind.text(root[keyPath: target]) }
  }

  /// One that may have no value.
  init<Value>(
    _ name: String, _ target: any WritableKeyPath<Root, Value?> & Sendable, _ kind: SettingKind<Value>,
    for owner: String? = nil, _ summary: String
  ) {
    self.init(name, target, kind.optional, for: owner, summary)
  }
}

extension SettingKind {
  /// The same, of a property that may have no value.
  fileprivate var optional: SettingKind<Value?> {
    SettingKind<Value?>(
      name: name, allowed: allowed, text: { value in value.flatMap(text) },
      read: { value, context throws(ValueProblem) in try read(value, context) })
  }
}

/// A setting as it is described to a reader, whatever it sets.
package struct SettingDescription: Sendable {
  /// The table of the file that it stands in.
  package let section: SettingSection
  /// Its key.
  package let name: String
  /// The `type` of source or the token provider that alone has it; nil when all do.
  package let owner: String?
  /// What a reader writes: "duration".
  package let typeName: String
  /// The values that are allowed; empty when any.
  package let allowed: String
  /// Whether it must be written.
  package let isRequired: Bool
  /// As a settings file writes it; nil when there is none.
  package let defaultText: String?
  /// What it means, as a sentence.
  package let summary: String

  /// - Parameter defaults: a new value of what it sets a property of.
  init<Root>(_ setting: Setting<Root>, in section: SettingSection, owner: String? = nil, defaults: Root) {
    self.section = section
    name = setting.name
    self.owner = owner ?? setting.owner
    typeName = setting.typeName
    allowed = setting.allowed
    isRequired = setting.isRequired
    defaultText = setting.text(defaults)
    summary = setting.summary
  }

  /// What alone has it, as a settings file writes it: `type = "serial"`; nil when all do.
  package var choice: String? { owner.flatMap { owner in section.selector.map { "\($0) = \"\(owner)\"" } } }
}
