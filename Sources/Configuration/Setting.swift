// SPDX-License-Identifier: Apache-2.0

/// The declaration of a setting: its key, the property that it sets, its allowed values, and its description.
///
/// The default is the property's value in a new `Root`. Parsing, the hints in error messages, `docs/settings.md` and
/// the manual page use these declarations.
struct Setting<Root>: Sendable {
  let name: String
  /// Returns the key path of the property. It is created only when it is first used, because that costs more than
  /// everything else in reading a setting. The type is independent of `Root`: otherwise Swift 6.2, which builds the
  /// packages for arm64, crashes.
  let target: @Sendable () -> any AnyKeyPath & Sendable
  let summary: String
  /// Whether the settings must contain it.
  let isRequired: Bool
  /// The only value of the section's selector (`type`, `provider` or `service`) with which the key is allowed, as in
  /// `serial`; nil if it is always allowed.
  let selectorValue: String?
  /// Whether it has no influence on which vehicle's positions and credentials are sent to which server, although its
  /// section has.
  let isDestinationNeutral: Bool
  let typeName: String
  let allowed: String
  /// Sets the property.
  let read: @Sendable (TOMLValue, SettingsContext, inout Root) throws(ValueProblem) -> Void
  /// The property's value, formatted as in a settings file; nil if it has none.
  let text: @Sendable (Root) -> String?

  init<Value>(
    _ name: String, _ target: @autoclosure @escaping @Sendable () -> any WritableKeyPath<Root, Value> & Sendable,
    _ type: SettingType<Value>, isRequired: Bool = false, for selectorValue: String? = nil,
    isDestinationNeutral: Bool = false, _ summary: String
  ) {
    self.name = name
    self.target = target
    self.summary = summary
    self.isRequired = isRequired
    self.selectorValue = selectorValue
    self.isDestinationNeutral = isDestinationNeutral
    typeName = type.name
    allowed = type.allowed
    read = { value, context, root throws(ValueProblem) in root[keyPath: target()] = try type.read(value, context) }
    text = { root in type.text(root[keyPath: target()]) }
  }

  /// A setting that may have no value.
  init<Value>(
    _ name: String, _ target: @autoclosure @escaping @Sendable () -> any WritableKeyPath<Root, Value?> & Sendable,
    _ type: SettingType<Value>, for selectorValue: String? = nil, isDestinationNeutral: Bool = false, _ summary: String
  ) {
    self.init(name, target(), type.optional, for: selectorValue, isDestinationNeutral: isDestinationNeutral, summary)
  }
}

extension SettingType {
  /// The same type for a property that may have no value.
  fileprivate var optional: SettingType<Value?> {
    SettingType<Value?>(
      name: name, allowed: allowed, text: { value in value.flatMap(text) },
      read: { value, context throws(ValueProblem) in try read(value, context) })
  }
}

/// The description of a setting, for the reference and the manual page.
package struct SettingDescription: Sendable {
  /// Its section.
  package let section: SettingSection
  /// Its key.
  package let name: String
  /// The only value of the section's selector with which it is allowed, such as `serial`; nil if it is always allowed.
  package let selectorValue: String?
  /// The type of its value, such as "duration".
  package let typeName: String
  /// The allowed values; empty for any.
  package let allowed: String
  /// Whether the settings must contain it.
  package let isRequired: Bool
  /// The default, formatted as in a settings file; nil if there is none.
  package let defaultText: String?
  /// Its description, in sentences.
  package let summary: String

  /// - Parameter defaults: a value with all defaults, of the type whose property the setting sets.
  init<Root>(_ setting: Setting<Root>, in section: SettingSection, selectorValue: String? = nil, defaults: Root) {
    self.section = section
    name = setting.name
    self.selectorValue = selectorValue ?? setting.selectorValue
    typeName = setting.typeName
    allowed = setting.allowed
    isRequired = setting.isRequired
    defaultText = setting.text(defaults)
    summary = setting.summary
  }

  /// The selector's line with which it is allowed: `type = "serial"`; nil if it is always allowed.
  package var selectorLine: String? {
    selectorValue.flatMap { selectorValue in section.selector.map { "\($0) = \"\(selectorValue)\"" } }
  }
}
