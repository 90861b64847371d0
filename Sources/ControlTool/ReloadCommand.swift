// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import EventLoop
import LocationDaemon
import Observability
import SystemCalls
import Timekeeping

/// `fleet-locationctl reload`: makes the daemon read its settings again.
enum ReloadCommand: Command {
  static let name = "reload"
  static let summary = "make the daemon read its settings again"
  static let options = [CommandLineOptions.Option("confirm", takesValue: true)] + DaemonClient.options
  static let usage = """
    Usage: fleet-locationctl reload [--confirm TIME] [--instance NAME | --socket PATH]
    The running daemon reads its settings again. If they have a mistake, it is reported, and the previous settings stay in
    force. systemd provides credentials only at a start: if the file of a credential has a new value, which only root can
    see, the reload fails with a request to restart the service.

          --confirm TIME  wait until Fleet Engine accepts an update with the new settings; if it accepts none within TIME,
                          as in "10min" (1 min to 24 h), the daemon reverts them: the previous settings are in force
                          again, also after a restart, until the files change. Time without a network, in a pause or
                          switched off does not count. Ctrl-C ends only the waiting, not the time

    Exit status: 0 if the new settings are in force, and confirmed if that was asked for; 78 if they are not; 75 if that
    is not known yet; 69 if no daemon answers, 77 if this user may not use the control socket.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonClient.refuseOperands(options, of: name)
    var limit: Duration?
    if let text = options.value("confirm") {
      do throws(QuantityOption.Mistake) {
        limit = try QuantityOption.duration(text, SettingsLoader.confirmationTimes)
      } catch {
        throw CommandError(.usage, "reload: --confirm: \(error.message)")
      }
    }
    let path = try DaemonClient.path(options)
    // This check comes first: the daemon must not use new settings with an old credential.
    if let obstacle = ServiceCredentials.reloadObstacle(at: path) { throw CommandError(.configuration, obstacle) }
    guard let limit else {
      if let mistake = try DaemonClient.send(.reload, options) { throw CommandError(.configuration, mistake) }
      return 0
    }
    let response = try DaemonClient.reload(confirmingWithin: limit, options)
    if let mistake = response.error { throw CommandError(.configuration, mistake) }
    if let remark = response.remark { printLine(Instance.addressed(remark, Instance.service(options))) }
    return try follow(limit, at: path)
  }

  private static func follow(_ limit: Duration, at path: String) throws(CommandError) -> Int32 {
    let loop: EventLoop
    do { loop = try EventLoop() } catch { throw CommandError(.io, error.message) }
    let start = loop.now.boot
    var watch = ConfirmationWatch(limit: limit)
    while true {
      let response: Result<StatusReport, StatusRequestError>
      do throws(CommandError) {
        response = .success(try DaemonClient.status(at: path, timeout: .seconds(2)).status)
      } catch {
        response = .failure(StatusRequestError(message: error.message))
      }
      switch watch.handle(response, at: loop.now.boot - start) {
      case .confirmed:
        printLine("the new settings are in force")
        return 0
      case .failed(let sentence): throw CommandError(.configuration, sentence)
      case .undecided(let sentence):
        throw CommandError(
          .temporary, "\(sentence)\nThe daemon continues without this command; fleet-locationctl status has the result")
      case .wait(let line): if let line { printLine(line) }
      }
      let next = loop.now.boot + .seconds(1)
      do {
        while loop.now.boot < next { _ = try loop.runOnce(timeout: next - loop.now.boot) }
      } catch {
        throw CommandError(.io, error.message)
      }
    }
  }

  private static func printLine(_ line: String) { StandardError.write("\(CommandLineTool.name): \(line)\n") }
}
