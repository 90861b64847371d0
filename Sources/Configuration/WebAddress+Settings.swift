// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import SystemCalls
import URLReader

extension WebAddress {
  /// Parses a URL of the settings.
  ///
  /// - Parameter schemes: those that are allowed, the preferred one first.
  static func parse(_ text: String, schemes: [String]) throws(ValueProblem) -> WebAddress {
    let example = "\"\(schemes.first ?? "https")://host.example.com\""
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else {
      throw ValueProblem(message: "has a character that is not allowed in a URL; a URL as in \(example) is expected")
    }
    let authority = text.drop { $0 != "/" }.drop { $0 == "/" }.prefix { !"/?#".contains($0) }
    try HostAddress.requireBrackets(String(authority))
    let address: WebAddress
    do throws(URLError) {
      address = try WebAddress(reading: text)
    } catch {
      throw ValueProblem(message: problem(error, example))
    }
    guard schemes.contains(address.scheme) else {
      throw ValueProblem(
        message: "has the scheme \"\(address.scheme.printable)\"; allowed: \(schemes.joined(separator: ", "))")
    }
    guard !address.hasCredentials else {
      // The URL is not in the message, because it may contain a password.
      throw ValueProblem(message: "has a user name or password in it; secrets must not be in the settings")
    }
    guard !text.contains("#") else { throw ValueProblem(message: "has a fragment (#), which is never sent") }
    return address
  }

  private static func problem(_ error: URLError, _ example: String) -> String {
    switch error.code {
    case .noScheme: "has no scheme; a URL as in \(example) is expected"
    case .badHost:
      "has no valid host name or address; a URL as in \(example) is expected, and no placeholder in its host"
    case .badPort: "has no valid port after its host; allowed: 1 to 65535"
    default: "is no URL (\(error.message)); a URL as in \(example) is expected"
    }
  }

  /// Rejects unencrypted connections to other machines, which would expose tokens and positions.
  func requireEncryption() throws(ValueProblem) {
    guard scheme == "https" || isLoopback else {
      throw ValueProblem(
        message: "http:// is not encrypted: others could read tokens and positions; write https:// "
          + "(http:// is allowed to 127.0.0.0/8, [::1] and localhost only)")
    }
  }
}
