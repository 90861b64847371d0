// SPDX-License-Identifier: Apache-2.0

extension Fault {
  /// A feature of an update that a server, or a gateway in front of it, may not accept.
  package enum Feature: String, Sendable, CaseIterable {
    /// Its body is compressed.
    case compressed
    /// Its position has no sensor.
    case noSensor = "no-sensor"
    /// It asks for a response without the vehicle's name.
    case responseMask = "response-mask"
    /// It asks for a response without indentation.
    case prettyPrint = "pretty-print"

    /// - Parameters:
    ///   - request: with its body decompressed.
    ///   - received: with its body as it was received.
    static func all(of request: Request, _ received: Request) -> Set<Feature> {
      var features: Set<Feature> = []
      if received.isEncoded { features.insert(.compressed) }
      if let location = (try? JSONParser.parse(request.body))?["lastLocation"],
        location["supplementalLocation"] != nil, location["supplementalLocationSensor"] == nil
      {
        features.insert(.noSensor)
      }
      if let mask = request.header("x-goog-fieldmask"), mask != "name" { features.insert(.responseMask) }
      if request.query.split(separator: "&").contains("prettyPrint=false") { features.insert(.prettyPrint) }
      return features
    }
  }
}
