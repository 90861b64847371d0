// SPDX-License-Identifier: Apache-2.0
import CCurl
import Glibc

/// Where this system keeps each issuer that it trusts in a file of its own.
///
/// libcurl trusts the system's bundle and its directory, and reads the whole bundle, all 140 issuers of it, for every new
/// connection. In a directory whose links are named after the issuers (openssl-rehash(1)), as Debian's
/// update-ca-certificates makes it beside the bundle, OpenSSL finds the one that it needs.
nonisolated enum IssuerDirectory {
  /// Whether libcurl's own directory has such links, so that the bundle can be left alone. Looked at once in a process.
  static let isComplete: Bool = {
    // The first version of the answer that tells the directory.
    guard let version = unsafe curl_version_info(CURLVERSION_EIGHTH), let path = unsafe version.pointee.capath else {
      return false
    }
    return unsafe hasHashLinks(String(cString: path))
  }()

  /// Whether a directory has a name like `5ad8a5d6.0`; false when it cannot be read.
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
