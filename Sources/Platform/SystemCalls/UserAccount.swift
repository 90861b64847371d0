// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A user of this machine, and its groups.
package struct UserAccount: Equatable, Sendable {
  package let name: String
  /// The user ID.
  package let id: uid_t
  /// Group IDs, including the primary one.
  package let groups: Set<gid_t>

  package init(name: String, id: uid_t, groups: Set<gid_t>) {
    self.name = name
    self.id = id
    self.groups = groups
  }

  /// Nil if there is no such user.
  package static func named(_ name: String) -> UserAccount? {
    guard let entry = unsafe getpwnam(name) else { return nil }
    return unsafe UserAccount(name: name, id: entry.pointee.pw_uid, groups: groups(of: name, entry.pointee.pw_gid))
  }

  /// The effective user and groups of this process.
  package static var current: UserAccount {
    let id = geteuid()
    var groups = [gid_t](repeating: 0, count: 1024)
    let count = unsafe getgroups(Int32(groups.count), &groups)
    let name = unsafe getpwuid(id).map { unsafe String(cString: $0.pointee.pw_name) }
    return UserAccount(
      name: name ?? "user \(id)", id: id, groups: Set(groups.prefix(max(Int(count), 0))).union([getegid()]))
  }

  /// The name of a group; nil if it has none.
  package static func name(ofGroup id: gid_t) -> String? {
    unsafe getgrgid(id).map { unsafe String(cString: $0.pointee.gr_name) }
  }

  private static func groups(of name: String, _ primary: gid_t) -> Set<gid_t> {
    var groups = [gid_t](repeating: 0, count: 1024)
    var count = Int32(groups.count)
    // A user who is in more than 1024 groups does not run a service.
    guard unsafe getgrouplist(name, primary, &groups, &count) >= 0 else { return [primary] }
    return Set(groups.prefix(max(Int(count), 0))).union([primary])
  }
}
