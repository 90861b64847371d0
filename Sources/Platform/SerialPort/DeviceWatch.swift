// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Glibc
import SystemCalls

/// Tells when a path that is missing, or may not be opened yet, may have come: it watches the directories that lead to
/// it, through symbolic links such as `/dev/serial/by-id/…`, from the nearest one that exists. It tells too often
/// rather than not; whoever is told tries to open the path.
package final class DeviceWatch {
  /// One name that the way to the device goes through.
  private struct Step: Equatable {
    var directory: String
    var name: String
  }

  private let loop: EventLoop
  private let path: String
  private let events: PathEvents
  private var onChange: (() -> Void)?
  private var steps: [Step] = []
  private var sources: [EventSource<PathEvent>] = []
  private var isDeferred = false

  /// - Parameters:
  ///   - path: absolute, or from the current directory.
  ///   - events: what counts as a change of a name on the way; that it vanishes is always watched.
  ///   - onChange: called after something on the way to the path appeared or changed its permissions, when the path
  ///     exists then.
  package init(
    loop: EventLoop, path: String, events: PathEvents = [.appeared, .attributes], onChange: @escaping () -> Void
  ) {
    self.loop = loop
    self.events = events
    self.path = path.hasPrefix("/") ? path : DeviceWatch.currentDirectory + "/" + path
    self.onChange = onChange
    watchSteps()
  }

  isolated deinit { close() }

  /// Stops watching for good.
  package func close() {
    onChange = nil
    for source in sources { source.close() }
    sources = []
  }

  private func watchSteps() {
    // The way may change between looking at it and watching it: look again after, until it stays the same.
    for _ in 0..<5 {
      steps = DeviceWatch.steps(to: path)
      for source in sources { source.close() }
      sources = steps.compactMap { step in
        do {
          return try loop.addWatch(step.directory, events.union([.vanished, .gone])) { [weak self] event in
            self?.handle(event, at: step)
          }
        } catch {
          // Gone since, or unreadable: the steps before it are watched, and the owner's timer tries anyway.
          return nil
        }
      }
      if DeviceWatch.steps(to: path) == steps { return }
    }
  }

  private func handle(_ event: PathEvent, at step: Step) {
    guard event.name == step.name || !event.events.isDisjoint(with: .gone), !isDeferred else { return }
    isDeferred = true
    // Many events come together; and no source is to be replaced while it is being read.
    loop.defer { [weak self] in self?.lookAgain() }
  }

  private func lookAgain() {
    isDeferred = false
    guard let onChange else { return }
    if DeviceWatch.steps(to: path) != steps || steps.count != sources.count { watchSteps() }
    if unsafe access(path, F_OK) == 0 { onChange() }
  }

  /// The names to watch: the last name that exists or the first that does not, and every link on the way.
  private static func steps(to path: String) -> [Step] {
    var steps: [Step] = []
    var directory = "/"
    var rest = path.split(separator: "/").map(String.init)
    // Links may lead in a circle; the kernel gives up at 40 too.
    var links = 0
    while !rest.isEmpty {
      let name = rest.removeFirst()
      if name == "." { continue }
      if name == ".." {
        directory = parent(of: directory)
        continue
      }
      let here = directory == "/" ? "/" + name : directory + "/" + name
      var status = stat()
      guard unsafe lstat(here, &status) == 0 else {
        steps.append(Step(directory: directory, name: name))
        break
      }
      if status.kind == S_IFLNK, links < 40, let target = SystemFile.target(ofLink: here) {
        links += 1
        steps.append(Step(directory: directory, name: name))
        if target.hasPrefix("/") { directory = "/" }
        rest = target.split(separator: "/").map(String.init) + rest
      } else if rest.isEmpty || status.kind != S_IFDIR {
        steps.append(Step(directory: directory, name: name))
        break
      } else {
        directory = here
      }
    }
    return steps
  }

  private static func parent(of directory: String) -> String {
    guard let slash = directory.lastIndex(of: "/"), slash != directory.startIndex else { return "/" }
    return String(directory[..<slash])
  }

  private static var currentDirectory: String {
    guard let path = unsafe getcwd(nil, 0) else { return "" }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }
}
