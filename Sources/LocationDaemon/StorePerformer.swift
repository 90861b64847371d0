// SPDX-License-Identifier: Apache-2.0
import BacklogStore
import Vehicle
import SystemCalls

/// Performs the operations of `StoreAgent` on the backlog's file.
///
/// A write to disk blocks the loop.
final class StorePerformer {
  private var store: BacklogStore?
  /// The last file that was open, to detect that it was replaced.
  private var lastFile: (directory: String, identity: FileIdentity)?
  /// A file that was set aside, although no new one could be made then: reported with the next that is opened.
  private var setAside: StoreAgent.SetAside?

  /// Bytes on disk; nil without a file.
  var size: Int64? { store?.size }

  /// - Returns: nil for an operation without an outcome.
  func perform(_ operation: StoreAgent.Operation) -> StoreAgent.Outcome? {
    do throws(BacklogStoreError) {
      switch operation {
      case .open(let directory, let maxSize):
        let opened = try BacklogStore.open(directory: directory, maxSize: maxSize, setAside: &setAside)
        let isReplaced = isAnotherFile(opened, in: directory) && setAside == nil
        return use(opened, isReplaced ? .openedAnother : nil, in: directory)
      case .replace(let directory, let maxSize, let why):
        store = nil
        let opened = try BacklogStore.replace(
          directory: directory, maxSize: maxSize, why: why, setAside: &setAside)
        return use(opened, in: directory)
      case .commit(let writes):
        try opened.commit(writes)
        return .committed
      case .makeRoom(let writes, let vehicle):
        return .madeRoom(dropped: try opened.makeRoom(for: writes, sparing: vehicle))
      case .read(let vehicle):
        let content = try opened.content(of: vehicle)
        return .read(
          content.records, damaged: content.damaged, orphaned: content.orphanedCount, excess: content.excessCount)
      case .forgetOthers(let vehicle, let time):
        try opened.forgetOthers(sparing: vehicle, before: time)
        return .forgotten
      case .close:
        store = nil
        return nil
      }
    } catch {
      let kind: StoreAgent.Failure.Kind =
        switch error.code {
        case .full: .full
        case .replaced: .replaced
        default: error.isUnusable ? .unusable : .other
        }
      return .failed(StoreAgent.Failure(kind, error.message))
    }
  }

  /// Whether the file is new, or differs from the last one in this directory.
  private func isAnotherFile(_ opened: BacklogStore, in directory: String) -> Bool {
    guard let lastFile, lastFile.directory == directory else { return false }
    return opened.isNew || !opened.identity.isSameFile(as: lastFile.identity)
  }

  private func use(
    _ opened: BacklogStore, _ outcome: StoreAgent.Outcome? = nil, in directory: String
  ) -> StoreAgent.Outcome {
    defer { setAside = nil }
    store = opened
    lastFile = (directory, opened.identity)
    return outcome ?? .opened(setAside)
  }

  private var opened: BacklogStore {
    get throws(BacklogStoreError) {
      guard let store else { throw BacklogStoreError(.failed, "the backlog's file is not open") }
      return store
    }
  }
}
