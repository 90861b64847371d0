// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import Testing

@testable import HTTPClient

struct CADirectoryTests {
  @Test(
    "a CA directory is recognized by the name of a hash link, such as 5ad8a5d6.0",
    arguments: [
      (["5ad8a5d6.0"], true), (["ca-certificates.crt", "0f5dc4f3.0"], true), (["ca-certificates.crt"], false),
      (["5ad8a5d6.1", "5ad8a5d6", "5AD8A5D6.0", "a5ad8a5d6.0"], false), ([], false),
    ])
  func links(names: [String], isKnown: Bool) throws {
    let directory = try TemporaryDirectory()
    for name in names { try #require(symlink("nowhere", directory(name)) == 0) }
    expectEqual(CADirectory.hasHashLinks(directory.path), isKnown)
  }

  @Test("a missing directory is not a CA directory")
  func missing() {
    expect(!CADirectory.hasHashLinks("/nonexistent/issuers"))
  }
}
