// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Testing

@testable import LocationDaemon

struct ServiceDirectoriesTests {
  private let parent: TemporaryDirectory
  private let directories: ServiceDirectories
  private var path: String { parent("state/service") }

  init() throws {
    parent = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: parent("state/service"), withIntermediateDirectories: true)
    directories = ServiceDirectories([parent("state/service")])
  }

  @Test("a directory that was deleted or replaced is reported; one that is in place is not")
  func deleted() throws {
    expectNil(directories.deleted)
    try FileManager.default.moveItem(atPath: path, toPath: parent("state/other"))
    expectEqual(directories.deleted, path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    expectEqual(directories.deleted, path)
  }

  @Test("a directory that cannot be examined is not reported as deleted")
  func unknown() throws {
    // A loop of links, because root may examine everything else.
    try FileManager.default.moveItem(atPath: parent("state"), toPath: parent("other"))
    try FileManager.default.createSymbolicLink(atPath: parent("state"), withDestinationPath: "state")
    expectNil(directories.deleted)
  }
}
