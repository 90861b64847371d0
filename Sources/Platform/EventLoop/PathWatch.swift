// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// Notifies when a path that is missing or not accessible may have appeared: watches the directories of the path,
/// including symbolic links such as `/dev/serial/by-id/…`, from the nearest existing one. It may notify too often; the
/// handler has to try the path. It does not notice that a directory above the watched ones is replaced.
package final class PathWatch {
  /// A component of the path.
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
  private var isRecheckPending = false

  /// - Parameters:
  ///   - path: absolute, or relative to the current directory.
  ///   - events: the changes of a component to watch for; its disappearance is always watched.
  ///   - onChange: called after a component of the path appeared or changed its permissions, if the path exists then.
  package init(
    loop: EventLoop, path: String, events: PathEvents = [.appeared, .attributes], onChange: @escaping () -> Void
  ) {
    self.loop = loop
    self.events = events
    self.path = path.hasPrefix("/") ? path : PathWatch.currentDirectory + "/" + path
    self.onChange = onChange
    watchSteps()
  }

  isolated deinit { close() }

  /// Stops watching permanently.
  package func close() {
    onChange = nil
    for source in sources { source.close() }
    sources = []
  }

  private func watchSteps() {
    // The path may change while the watches are set up: repeat until it is stable.
    for _ in 0..<5 {
      steps = PathWatch.steps(to: path)
      for source in sources { source.close() }
      sources = steps.compactMap { step in
        do {
          return try loop.addWatch(step.directory, events.union([.vanished, .gone])) { [weak self] event in
            self?.handle(event, at: step)
          }
        } catch {
          // The directory has gone since, or is unreadable: the previous components are watched, and the owner's timer
          // tries the path anyway.
          return nil
        }
      }
      if PathWatch.steps(to: path) == steps { return }
    }
  }

  private func handle(_ event: PathEvent, at step: Step) {
    guard event.name == step.name || !event.events.isDisjoint(with: .gone), !isRecheckPending else { return }
    isRecheckPending = true
    // Events come in bursts, and a source must not be replaced while it is being read.
    loop.defer { [weak self] in self?.recheck() }
  }

  private func recheck() {
    isRecheckPending = false
    guard let onChange else { return }
    if PathWatch.steps(to: path) != steps || steps.count != sources.count { watchSteps() }
    if unsafe access(path, F_OK) == 0 { onChange() }
  }

  /// The components to watch: the last existing or first missing name, and every link.
  private static func steps(to path: String) -> [Step] {
    var steps: [Step] = []
    var directory = "/"
    var rest = path.split(separator: "/").map(String.init)
    // Links may form a cycle; the kernel also gives up after 40.
    var links = 0
    while !rest.isEmpty {
      let name = rest.removeFirst()
      if name == "." { continue }
      if name == ".." {
        directory = parent(of: directory)
        continue
      }
      let currentPath = directory == "/" ? "/" + name : directory + "/" + name
      var status = stat()
      guard unsafe lstat(currentPath, &status) == 0 else {
        steps.append(Step(directory: directory, name: name))
        break
      }
      if status.kind == S_IFLNK, links < 40, let target = SystemFile.target(ofLink: currentPath) {
        links += 1
        steps.append(Step(directory: directory, name: name))
        if target.hasPrefix("/") { directory = "/" }
        rest = target.split(separator: "/").map(String.init) + rest
      } else if rest.isEmpty || status.kind != S_IFDIR {
        steps.append(Step(directory: directory, name: name))
        break
      } else {
        directory = currentPath
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
