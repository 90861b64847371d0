// SPDX-License-Identifier: Apache-2.0
import JSON

/// Google's rules for the IDs of providers and vehicles (`delivery_vehicle_id` of CreateDeliveryVehicleRequest).
/// Unicode normalization is checked by the server only.
enum Identifier {
  static let maxLength = 64

  /// The mistake in an ID; nil if it is valid.
  static func problem(of text: String) -> String? {
    let scalars = text.unicodeScalars
    if scalars.isEmpty { return "is empty; an ID of 1 to \(maxLength) characters is expected" }
    if scalars.count > maxLength { return "has \(scalars.count) characters; an ID has at most \(maxLength)" }
    if let scalar = scalars.first(where: { "/:?,#".unicodeScalars.contains($0) }) {
      return "contains \"\(scalar)\"; an ID has none of / : ? , #"
    }
    // With such an ID, the control tool could not read the daemon's responses.
    if JSONReader.hasTooManyMarks(text) { return "has more than \(JSONReader.maximumMarks) combining marks in a row" }
    if scalars.contains(where: { $0.properties.generalCategory == .control }) {
      return "contains a control character"
    }
    if scalars.first?.properties.isWhitespace == true || scalars.last?.properties.isWhitespace == true {
      return "begins or ends with a space"
    }
    // "." and ".." are removed from the path of a URL, escaped or not.
    if text == "." || text == ".." { return "\"\(text)\" is not possible in a URL" }
    return nil
  }

  /// Host names that images and distributions set by default.
  static let defaultHostNames: Set<String> = [
    "localhost", "localhost.localdomain", "debian", "ubuntu", "raspberrypi", "buildroot", "OpenWrt",
  ]

  /// What is probably wrong with the ID of a project; nil if nothing is. Project IDs have only lower-case letters,
  /// digits and hyphens, and begin with a letter (`Project.project_id` of Google's Resource Manager API).
  static func mistake(inProject text: String) -> String? {
    let scalars = text.unicodeScalars
    let other =
      if !text.isEmpty, scalars.allSatisfy({ ("0"..."9").contains($0) }) {
        "a project's number"
      } else if scalars.contains(where: { $0 == " " || ("A"..."Z").contains($0) }) {
        "a project's name"
      } else {
        String?.none
      }
    return other.map { "looks like \($0), and its ID is expected; this command shows both: gcloud projects list" }
  }

  /// What is probably wrong with the ID of a provider or vehicle, though it is valid; nil if nothing is.
  static func mistake(in text: String) -> String? {
    if let scalar = text.unicodeScalars.first(where: { $0.properties.generalCategory == .format || $0 == "\u{A0}" }) {
      let number = String(scalar.value, radix: 16, uppercase: true)
      return
        "has the invisible character U+\(String(repeating: "0", count: max(0, 4 - number.count)))\(number); remove it"
    }
    if text.count > 1, let first = text.first, "\"'".contains(first), first == text.last {
      return "is in quotes that are part of it; remove them"
    }
    if text.contains("=") { return "contains \"=\"; only the value after it is expected" }
    if let first = text.first, "${".contains(first) {
      return
        "begins with \"\(first)\", which is not replaced; `vehicle_id = { environment = \"NAME\" }` reads a variable"
    }
    return nil
  }

  /// The mistake in the ID of a vehicle; nil if it is valid.
  static func problem(ofVehicle text: String) -> String? {
    if text == "*" { return "\"*\" means every vehicle; write the ID of this vehicle" }
    return problem(of: text)
  }
}
