// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis
import SystemCalls

extension Instance {
  /// The service whose settings or control socket the options name; nil if they name none of the package.
  static func service(_ options: CommandLineOptions) -> InstalledService? {
    if let path = options.value("config") {
      return InstalledService(settings: InstalledService.settingsPath(path))
    }
    if let path = options.value("socket") { return InstalledService(socket: path) }
    return options.value(option.name).flatMap { InstalledService(settings: SetupPlan.settingsPath($0)) }
  }

  /// A text with commands for a service. The daemon and the checks name those for the main one, which on a machine with
  /// instances would affect another vehicle: here `--instance` is added to each command that has this option, and the
  /// unit in `journalctl -u` and `systemctl` is replaced.
  ///
  /// - Parameter service: nil for the main one.
  @MainActor static func addressed(_ text: String, _ service: InstalledService?) -> String {
    guard let service, !service.option.isEmpty else { return text }
    var words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    for index in words.indices.dropFirst() {
      if words[index - 1].hasSuffix(CommandLineTool.name) {
        add(service.option, to: &words, commandAt: index)
      } else if words[index - 1].hasSuffix("-u") || index > 1 && words[index - 2].hasSuffix("systemctl") {
        words[index] = unit(words[index], service)
      }
    }
    return words.joined(separator: " ")
  }

  /// No effect if an option that names the daemon follows already.
  @MainActor private static func add(_ option: String, to words: inout [String], commandAt index: Int) {
    let command = words[index].prefix { $0.isLetter }
    guard CommandLineTool.takesInstance(String(command)) else { return }
    // The operand of `modem enable` belongs to the command.
    let last = command == ModemCommand.name ? index + 1 : index
    guard last < words.count else { return }
    let word = words[last]
    let end = word.prefix { $0.isLetter }.endIndex
    if end == word.endIndex, last + 1 < words.count,
      ["--\(self.option.name)", "--config", "--socket"].contains(where: words[last + 1].hasPrefix)
    {
      return
    }
    words[last] = "\(word[..<end])\(option)\(word[end...])"
  }

  /// A word without a change if it is not the main unit, such as `fleet-locationd@van.service`.
  private static func unit(_ word: String, _ service: InstalledService) -> String {
    let main = "fleet-locationd"
    guard word.hasPrefix(main) else { return word }
    let rest = word.dropFirst(main.count)
    guard rest.first.map({ ");:,\n".contains($0) }) ?? true else { return word }
    return service.unit + rest
  }
}
