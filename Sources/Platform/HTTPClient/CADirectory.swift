// SPDX-License-Identifier: Apache-2.0
import CCurl
import Glibc

/// The directory with one file per trusted CA.
///
/// libcurl uses the system's CA bundle and directory, and parses the whole bundle of 140 CAs for every new connection.
/// In a directory with hash links (openssl-rehash(1)), as Debian's update-ca-certificates creates, OpenSSL finds the CA
/// that it needs.
nonisolated enum CADirectory {
  /// Whether libcurl's default directory has hash links, so that the bundle is not needed. Checked once per process.
  static let defaultHasHashLinks: Bool = {
    // CURLVERSION_EIGHTH is the first version of the struct that contains the directory.
    guard let version = unsafe curl_version_info(CURLVERSION_EIGHTH), let path = unsafe version.pointee.capath else {
      return false
    }
    return unsafe hasHashLinks(String(cString: path))
  }()

  /// Whether a directory contains a name such as `5ad8a5d6.0`; false if it cannot be read.
  static func hasHashLinks(_ path: String) -> Bool {
    guard let directory = unsafe opendir(path) else { return false }
    defer { unsafe closedir(directory) }
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe bytes.prefix { $0 != 0 }.map { $0 }
      }
      if name.count == 10, name.suffix(2) == [UInt8(ascii: "."), UInt8(ascii: "0")],
        name.prefix(8).allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
      {
        return true
      }
    }
    return false
  }
}
