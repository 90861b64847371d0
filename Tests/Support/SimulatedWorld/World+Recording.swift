// SPDX-License-Identifier: Apache-2.0
import FixSources
import Positioning
import Timekeeping

extension Port {
  /// Whether the port's recording is a file.
  var isFile: Bool { if case .file = recording { true } else { false } }
}

/// A recording: each read of it takes an iteration of the loop, until its end.
extension World {
  private static let readSize = 4096

  /// Writes the scenario's file: a recorded drive that began an hour before the run.
  func writeRecording() {
    guard case .file(let count, let isInaccurate) = scenario.recording else { return }
    var drive = self.drive
    for second in 1...count {
      drive.advance(second: second)
      for var fix in receivers[0].output(second: second - 3600, of: drive, wallError: wallError).fixes {
        if isInaccurate { fix.horizontalAccuracy = 500 }
        ports[0].file += scenario.dialect.epoch(of: fix)
      }
    }
  }

  /// Opens a recording at its beginning. Data that is written into a pipe before the daemon reads it stays in the pipe.
  func openRecording(_ index: Int) {
    guard ports[index].recording != nil else { return }
    ports[index].close()
    ports[index].hasEnded = ports[index].isFile
    ports[index].unread = ports[index].file
  }

  /// The daemon requests more data.
  func askRecording(_ index: Int) {
    if !ports[index].hasEnded, ports[index].baud == nil {
      ports[index].baud = scenario.baud
      ports[index].openedAt = now
      ports[index].isReleased = false
    }
    ports[index].isWatched = true
    pendRead(of: index, isDrain: false)
  }

  /// Passes the daemon the data that it has requested, or the end.
  func readRecording(_ index: Int) {
    guard ports[index].isWatched else { return }
    let bytes = Array(ports[index].unread.prefix(World.readSize))
    guard !bytes.isEmpty else {
      guard ports[index].hasEnded, ports[index].reads.isEmpty else { return }
      ports[index].isWatched = false
      return handlePort(index, .endOfInput)
    }
    ports[index].unread.removeFirst(bytes.count)
    ports[index].isWatched = false
    receive(bytes, from: .peer, of: ports[index].id)
  }
}
