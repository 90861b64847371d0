// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// The output of a gpsd with one receiver.
enum GPSDModel {
  private static let device = "/dev/gps0"

  /// gpsd's response to `?WATCH`.
  static let greeting = lines(
    #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#,
    #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"\#(device)","driver":"NMEA0183"}]}"#,
    #"{"class":"WATCH","enable":true,"json":true}"#)

  static func report(of fix: Fix) -> [UInt8] {
    let time = if case .utc(let stamp)? = fix.time { #","time":"\#(stamp.rfc3339)""# } else { "" }
    let speed = fix.speed.map { #","speed":\#($0)"# } ?? ""
    let track = fix.heading.map { #","track":\#($0)"# } ?? ""
    let place = #""lat":\#(fix.coordinate.latitude),"lon":\#(fix.coordinate.longitude)"#
    return lines(
      #"{"class":"SKY","device":"\#(device)","hdop":0.8,"nSat":14,"uSat":11}"#,
      #"{"class":"TPV","device":"\#(device)","mode":3\#(time),\#(place),"altHAE":560.0,"altMSL":515.0\#(track)\#(speed)}"#
    )
  }

  /// The report that the receiver has no fix.
  static func void(at stamp: Timestamp) -> [UInt8] {
    lines(#"{"class":"TPV","device":"\#(device)","mode":1,"time":"\#(stamp.rfc3339)"}"#)
  }

  private static func lines(_ lines: String...) -> [UInt8] { Array(lines.map { "\($0)\r\n" }.joined().utf8) }
}
