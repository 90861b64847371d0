// SPDX-License-Identifier: Apache-2.0
import CLiveMap
import Glibc

/// The files of the live map's page: its own are built into the program, Leaflet's are those of Debian's libjs-leaflet.
package struct PageFiles {
  /// Every file of the folder LiveMap; a test checks that none is missing.
  static let embedded: [String: [UInt8]] = {
    var files: [String: [UInt8]] = [:]
    var file = unsafe live_map_files()
    while let next = unsafe file, let name = unsafe next.pointee.name {
      unsafe files[String(cString: name)] = [UInt8](
        UnsafeBufferPointer(start: next.pointee.bytes, count: next.pointee.count))
      unsafe file = next + 1
    }
    return files
  }()

  /// Leaflet's files, by the name that the page uses, in order of preference.
  private static let leaflet: [String: [String]] = [
    "leaflet.js": ["leaflet.min.js", "leaflet.js"], "leaflet.css": ["leaflet.css"],
    "images/layers.png": ["images/layers.png"], "images/layers-2x.png": ["images/layers-2x.png"],
    "images/marker-icon.png": ["images/marker-icon.png"], "images/marker-icon-2x.png": ["images/marker-icon-2x.png"],
    "images/marker-shadow.png": ["images/marker-shadow.png"],
  ]
  /// Maximum size of a file in bytes; Leaflet's largest file has half a megabyte.
  private static let maximumSize = 4_000_000

  private let folder: String?
  private let leafletFolder: String

  /// - Parameters:
  ///   - folder: if given, the page's own files are read from there at each request, so that they can be edited.
  ///   - leaflet: the folder of Leaflet's files.
  package init(folder: String? = nil, leaflet: String = "/usr/share/javascript/leaflet") {
    self.folder = folder
    leafletFolder = leaflet
  }

  /// Whether Leaflet is installed.
  var hasLeaflet: Bool { (content("leaflet.js") ?? []).isEmpty == false }

  /// - Parameter name: the name that the page requests, such as `map.css`; only known names are looked up.
  func content(_ name: String) -> [UInt8]? {
    if let bytes = Self.embedded[name] {
      return folder.map { Self.read("\($0)/\(name)") } ?? bytes
    }
    for file in Self.leaflet[name] ?? [] {
      if let bytes = Self.read("\(leafletFolder)/\(file)") { return bytes }
    }
    return nil
  }

  static func contentType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    default: "image/png"
    }
  }

  private static func read(_ path: String) -> [UInt8]? {
    guard let file = unsafe fopen(path, "re") else { return nil }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: maximumSize)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe fread($0.baseAddress, 1, $0.count, file) }
    guard unsafe ferror(file) == 0 else { return nil }
    return Array(bytes.prefix(count))
  }
}
