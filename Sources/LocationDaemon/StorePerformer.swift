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

  /// Bytes on disk; nil without a file.
  var size: Int64? { store?.size }

  /// - Returns: nil for an operation without an outcome.
  func perform(_ operation: StoreAgent.Operation) -> StoreAgent.Outcome? {
    do throws(BacklogStoreError) {
      switch operation {
      case .open(let directory, let maxSize):
        let (opened, setAside) = try BacklogStore.open(directory: directory, maxSize: maxSize)
        let isAnotherFile = isAnotherFile(opened, in: directory)
        use(opened, in: directory)
        return isAnotherFile && setAside == nil ? .openedAnother : .opened(setAside)
      case .replace(let directory, let maxSize, let why):
        store = nil
        let (opened, setAside) = try BacklogStore.replace(directory: directory, maxSize: maxSize, why: why)
        use(opened, in: directory)
        return .opened(setAside)
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

  private func use(_ opened: BacklogStore, in directory: String) {
    store = opened
    lastFile = (directory, opened.identity)
  }

  private var opened: BacklogStore {
    get throws(BacklogStoreError) {
      guard let store else { throw BacklogStoreError(.failed, "the backlog's file is not open") }
      return store
    }
  }
}
