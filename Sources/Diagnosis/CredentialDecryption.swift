// SPDX-License-Identifier: Apache-2.0
import Glibc
import HTTPMessages
import MessageBus
import SystemCalls

/// Decrypts the file of a credential as root, with systemd-creds(1), to the value that systemd passes at the next start
/// of the service.
///
/// The program runs in a transient unit: a reload runs in the unit of the service (ExecReload=), which has no access to
/// the TPM (DevicePolicy=closed).
enum CredentialDecryption {
  private static let program = "/usr/bin/systemd-creds"
  /// Maximum size in bytes; a longer value is not compared.
  private static let maxSize = 16_384
  /// A TPM may need seconds.
  private static let timeLimit = Duration.seconds(20)
  /// Interval, in microseconds, at which it is checked whether the program has ended.
  private static let pollInterval: UInt32 = 20_000

  /// - Parameters:
  ///   - file: its absolute path.
  ///   - name: the name that it was encrypted for.
  /// - Returns: nil if it cannot be decrypted, or this user cannot start a unit.
  static func content(ofFile file: String, named name: String) -> Secret? {
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { return nil }
    let output = Descriptor(owning: ends[0])
    let input = Descriptor(owning: ends[1])
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      // The pipe is read after the program's end, while systemd may have its writing end open. If a value does not fit
      // into it, the program fails.
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    guard let errors = try? Descriptor.open("/dev/null", O_WRONLY) else { return nil }
    // The descriptors must stay open until systemd has duplicated them.
    defer { withExtendedLifetime(input) {} }
    defer { withExtendedLifetime(errors) {} }
    var transient = TransientService(
      unit: TransientService.name(
        of: ServiceImpersonation.programs[0], process: getpid(), key: .random(in: .min ... .max)),
      description: "Decryption of the credential \(name), to compare it", original: nil, program: program,
      arguments: [program, "decrypt", "--name=\(name)", file, "-"], environment: [], successExitStatuses: [],
      timeLimit: timeLimit)
    transient.output = input.rawValue
    transient.errors = errors.rawValue
    guard hasSucceeded(transient) else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: maxSize)
    while bytes.count <= maxSize, case .bytes(let count)? = try? output.read(into: &buffer) {
      bytes.append(contentsOf: buffer.prefix(count))
    }
    return bytes.count <= maxSize ? Secret(String(decoding: bytes, as: UTF8.self)) : nil
  }

  /// Runs the program to its end.
  private static func hasSucceeded(_ transient: TransientService) -> Bool {
    do throws(MessageBusError) {
      let bus = try MessageBus()
      try bus.start(transient)
      defer { bus.stop(transient.unit) }
      while try bus.isRunning(transient) { usleep(pollInterval) }
      let status = try ServiceStatus(of: transient.unit, from: bus)
      return status.load == "loaded" && status.result == "success" && status.end == .exited(0)
    } catch {
      // There is no systemd, it does not answer, or this user may not start units.
      return false
    }
  }
}
