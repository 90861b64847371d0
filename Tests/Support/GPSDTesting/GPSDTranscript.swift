// SPDX-License-Identifier: Apache-2.0

/// The output of a gpsd, for tests that act as one.
package enum GPSDTranscript {
  /// Lines as gpsd 3.22 sends them.
  package static let greeting = [
    #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#,
    #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/a","driver":"NMEA0183","activated":"2026-11-21T10:14:51.627Z","native":0,"bps":4800,"parity":"N","stopbits":1,"cycle":1.00}]}"#,
    #"{"class":"WATCH","enable":true,"json":true,"nmea":false,"raw":0,"scaled":false,"timing":false,"split24":false,"pps":false}"#,
  ]

  /// A report of a receiver with a fix at a latitude.
  package static func tpv(_ device: String?, _ latitude: Double) -> String {
    let name = device.map { "\"device\":\"\($0)\"," } ?? ""
    return "{\"class\":\"TPV\",\(name)\"mode\":3,\"time\":\"2026-11-21T06:00:03Z\",\"lat\":\(latitude),\"lon\":2}"
  }
}
