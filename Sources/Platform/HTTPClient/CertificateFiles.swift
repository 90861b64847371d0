// SPDX-License-Identifier: Apache-2.0
import Glibc
import HTTPMessages

/// Identifies the contents of a client's certificate files. A TLS session is resumed without them, so a session that
/// was established with other contents must not be resumed.
struct CertificateFiles: Equatable {
  /// Device, inode, size and time of modification of each file that exists.
  private let versions: [[Int]]

  init(of settings: HTTPClientConfiguration) {
    let paths = [settings.caFile, settings.clientCertificate, settings.clientKey].compactMap(\.self)
    versions = paths.map { path -> [Int] in
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { return [] }
      return [
        Int(bitPattern: UInt(status.st_dev)), Int(bitPattern: UInt(status.st_ino)), Int(status.st_size),
        status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
      ]
    }
  }
}
