// SPDX-License-Identifier: Apache-2.0

/// Google's rules for the IDs of providers and vehicles (`delivery_vehicle_id` of CreateDeliveryVehicleRequest).
/// That a text is in Unicode's normal form C is for the server to check.
enum Identifier {
  static let longest = 64

  /// What is wrong with an ID, or nil.
  static func problem(of text: String) -> String? {
    let scalars = text.unicodeScalars
    if scalars.isEmpty { return "is empty; an ID of 1 to \(longest) characters is expected" }
    if scalars.count > longest { return "has \(scalars.count) characters; an ID has at most \(longest)" }
    if let scalar = scalars.first(where: { "/:?,#".unicodeScalars.contains($0) }) {
      return "has a \"\(scalar)\" in it; an ID has none of / : ? , #"
    }
    if scalars.contains(where: { $0.properties.generalCategory == .control }) {
      return "has a control character in it"
    }
    if scalars.first?.properties.isWhitespace == true || scalars.last?.properties.isWhitespace == true {
      return "begins or ends with a space"
    }
    // They would vanish from the path of a URL, escaped or not.
    if text == "." || text == ".." { return "\"\(text)\" cannot stand in a URL" }
    return nil
  }

  /// What is wrong with the ID of a vehicle, or nil.
  static func problem(ofVehicle text: String) -> String? {
    if text == "*" { return "\"*\" is every vehicle, not one; write the ID of this vehicle" }
    return problem(of: text)
  }
}
