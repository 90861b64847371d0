// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import ExternalInput
import Glibc
import SystemCalls

/// An open receiver: a serial line in raw mode, or a character device that is not a terminal, such as `/dev/gnss0`. It
/// is exclusive and nonblocking. It does not reopen itself: `SerialSession` decides when to do that.
package final class SerialPort {
  /// The read size; at 921,600 baud 4 KiB arrive in 44 ms.
  private static let bufferSize = 4096
  /// Maximum number of reads per iteration of the loop.
  private static let maximumReads = 4
  /// Major numbers of pseudo-terminals (Documentation/admin-guide/devices.txt of the kernel).
  private static let pseudoTerminalMajors: ClosedRange<UInt32> = 136...143

  private let path: String
  /// Whether it is a serial line, which has a baud rate.
  package let isTerminal: Bool
  private var descriptor: Descriptor?
  private var source: EventSource<IOEvents>?
  private var buffer = [UInt8](repeating: 0, count: bufferSize)
  private var onBytes: ((Span<UInt8>) -> Void)?
  private var onEnd: ((SerialPortError) -> Void)?

  /// Opens a device and reads it on the event loop.
  ///
  /// - Parameters:
  ///   - path: a character device, or a link to one.
  ///   - baud: one of `BaudRate.all`; ignored if the device is not a terminal.
  ///   - onBytes: called with received data in order; the span is valid during the call.
  ///   - onEnd: called once when the device is gone; the port is then closed.
  /// - Throws: why the device cannot be opened, with the advice.
  package init(
    loop: EventLoop, path: String, baud: Int, onBytes: @escaping (Span<UInt8>) -> Void,
    onEnd: @escaping (SerialPortError) -> Void
  ) throws(SerialPortError) {
    let descriptor = try SerialPort.open(path)
    do {
      try SerialPort.configure(descriptor, path, baud: baud)
      self.path = path
      isTerminal = isatty(descriptor.rawValue) == 1
      self.onBytes = onBytes
      self.onEnd = onEnd
      let rawValue = descriptor.rawValue
      self.descriptor = consume descriptor
      do throws(EventLoopError) {
        source = try loop.addIO(rawValue, .readable) { [weak self] _ in _ = self?.read() }
      } catch {
        // epoll_ctl(2)'s error for a device that is always ready, such as memory and /dev/null.
        if error.cause?.code == EPERM {
          throw SerialPortError(
            .wrongKind, "\(path): this is not a receiver; look for it with: ls -l /dev/serial/by-id", cause: error.cause
          )
        }
        throw SerialPortError(.failed, "\(path): \(error.message)", cause: error.cause)
      }
    }
  }

  isolated deinit { close() }

  /// Stops reading and closes the device, without calling a handler. Idempotent, and allowed inside `onBytes`.
  package func close() {
    onBytes = nil
    onEnd = nil
    source?.close()
    source = nil
    // The exclusive mode ends only when the last descriptor is closed, and this descriptor may not be the last.
    if isTerminal, let rawValue = descriptor?.rawValue { _ = ioctl(rawValue, UInt(TIOCNXCL)) }
    descriptor = nil
  }

  /// Until `readNow` or `watch`, reports no data, only the end of the device.
  package func pause() { source?.watch(for: []) }

  /// Reports data when it arrives, as in the beginning.
  package func watch() { source?.watch(for: .readable) }

  /// Reports available data.
  package func readNow() {
    // Limited, in case the device has endless data.
    for _ in 0..<SerialPort.maximumReads {
      guard read() == SerialPort.bufferSize else { break }
    }
  }

  /// Changes the baud rate and discards unread data.
  ///
  /// - Throws: code `badBaud` if the device does not support it; the rate is then undefined.
  package func setBaud(_ baud: Int) throws(SerialPortError) {
    guard isTerminal, let rawValue = descriptor?.rawValue else { return }
    do {
      guard try SerialPort.setLine(rawValue, path, baud: baud) else {
        throw SerialPortError(.badBaud, "\(path): the device does not do \(baud) baud")
      }
    } catch let error as SerialPortError {
      throw error
    } catch {
      throw SerialPortError(.failed, "\(path): the line cannot be set up: \(error)", cause: error as? Errno)
    }
  }

  /// - Returns: the number of bytes read.
  private func read() -> Int {
    do throws(Errno) {
      switch try descriptor?.read(into: &buffer) {
      case .bytes(let count)?:
        let buffer = buffer
        onBytes?(buffer.span.extracting(first: count))
        return count
      case .wouldBlock?, nil: break
      case .end?: end(SerialPortError(.vanished, "\(path): the device hung up"))
      }
    } catch {
      // EIO, ENODEV and ENXIO are the errors that drivers return for a device that was unplugged.
      end(SerialPortError(.vanished, "\(path): the device is gone (\(error))", cause: error))
    }
    return 0
  }

  private func end(_ error: SerialPortError) {
    let onEnd = onEnd
    close()
    onEnd?(error)
  }

  private static func open(_ path: String) throws(SerialPortError) -> Descriptor {
    do {
      return try Descriptor.open(path, O_RDWR | O_NONBLOCK)
    } catch {
      throw openError(path, error)
    }
  }

  /// Why this process may not open the device, and what to do.
  static func permissionError(_ path: String, _ error: Errno) -> SerialPortError {
    let status = try? DeviceStatus.of(path)
    if let status, status.kind != .characterDevice {
      return SerialPortError(
        .wrongKind, "\(path): this is not a device; a receiver is one such as /dev/ttyUSB0", cause: error)
    }
    let advice =
      if error.code == EPERM {
        "the unit of the service allows no device of this class: \(ManualPage.receivers) has the line to add (DeviceAllow=)"
      } else if let status, status.isPseudoTerminal, status.mode & 0o060 != 0o060 {
        "the program that makes this pseudo-terminal sets its group and mode, socat with PTY,…,group=dialout,mode=660 "
          + "(\(ManualPage.receivers))"
      } else if let status, status.group == 0 || status.mode & 0o060 != 0o060 {
        "it is for its owner alone; with a udev rule give it GROUP=\"dialout\", MODE=\"0660\" (\(ManualPage.receivers))"
      } else {
        "this user is not in the device's group, most often dialout; fleet-locationctl doctor says what to do"
      }
    return SerialPortError(.permissionDenied, "\(path): permission denied; \(advice)", cause: error)
  }

  private static func openError(_ path: String, _ error: Errno) -> SerialPortError {
    switch error.code {
    case ENOENT, ENOTDIR:
      SerialPortError(
        .missing,
        "\(path): there is no such device; plug the receiver in, and look for it with: ls -l /dev/serial/by-id",
        cause: error)
    case EACCES, EPERM:
      permissionError(path, error)
    case EBUSY:
      busyError(path, error)
    case EISDIR:
      SerialPortError(
        .wrongKind, "\(path): this is a directory; a receiver is a file such as /dev/ttyUSB0", cause: error)
    case ENODEV, ENXIO:
      SerialPortError(
        .missing,
        "\(path): there is no hardware behind this device (\(error)); look for the receiver with: "
          + "ls -l /dev/serial/by-id", cause: error)
    default:
      SerialPortError(.failed, "\(path): cannot be opened: \(error)", cause: error)
    }
  }

  private static func busyError(_ path: String, _ error: Errno) -> SerialPortError {
    SerialPortError(
      .busy,
      "\(path): another program has this device; find it with: sudo fuser -v \(path) (often gpsd or ModemManager)",
      cause: error)
  }

  /// Locks the device, sets the line to raw, 8 data bits, no parity, 1 stop bit, and excludes programs that ignore the
  /// lock.
  private static func configure(_ descriptor: borrowing Descriptor, _ path: String, baud: Int) throws(SerialPortError) {
    do {
      let status = try descriptor.status()
      guard status.kind == S_IFCHR else {
        throw SerialPortError(
          .wrongKind, "\(path): this is not a device; a recording is read with type = \"replay\"")
      }
      let rawValue = descriptor.rawValue
      // flock is for programs that check locks, including root's; TIOCEXCL for those that do not.
      do {
        _ = try Errno.retrying { flock(rawValue, LOCK_EX | LOCK_NB) }
      } catch {
        if error.code == EWOULDBLOCK { throw busyError(path, error) }
      }
      guard isatty(rawValue) == 1 else { return }
      // Where a rate cannot be set, as with a modem's port, it has no effect on the data either.
      _ = try setLine(rawValue, path, baud: baud)
      // This is not set for a pseudo-terminal, such as socat's: its other end keeps it open, and with it the exclusive
      // mode, even if this process is killed. It could then never be opened again.
      if !pseudoTerminalMajors.contains(status.deviceMajor) {
        _ = try Errno.retrying { ioctl(rawValue, UInt(TIOCEXCL)) }
      }
    } catch let error as SerialPortError {
      throw error
    } catch {
      throw SerialPortError(.failed, "\(path): the line cannot be set up: \(error)", cause: error as? Errno)
    }
  }

  /// - Returns: whether the device does this rate.
  private static func setLine(_ rawValue: Int32, _ path: String, baud: Int) throws -> Bool {
    guard let speed = BaudRate.speed(baud) else {
      let known = BaudRate.all.map(String.init).joined(separator: ", ")
      throw SerialPortError(.badBaud, "\(path): \(baud) is not a baud rate that can be set; it is one of \(known)")
    }
    var line = termios()
    _ = try Errno.retrying { unsafe tcgetattr(rawValue, &line) }
    let speedBefore = unsafe cfgetispeed(&line)
    unsafe cfmakeraw(&line)
    // CLOCAL: receivers have no carrier detect line. Without HUPCL, reopening does not reset the receiver.
    line.c_cflag |= tcflag_t(CLOCAL | CREAD)
    line.c_cflag &= ~tcflag_t(CSTOPB | PARENB | HUPCL) & ~tcflag_t(CRTSCTS)
    // VMIN 1: with 0, a quiet line would look like a line that was hung up.
    unsafe withUnsafeMutableBytes(of: &line.c_cc) { characters in
      unsafe characters[Int(VMIN)] = 1
      unsafe characters[Int(VTIME)] = 0
    }
    unsafe cfsetispeed(&line, speed)
    unsafe cfsetospeed(&line, speed)
    _ = try Errno.retrying { unsafe tcsetattr(rawValue, TCSANOW, &line) }
    // tcsetattr succeeds if it could do any part of the request.
    _ = try Errno.retrying { unsafe tcgetattr(rawValue, &line) }
    let isSet = unsafe cfgetispeed(&line) == speed
    // Data received at another rate is noise.
    if isSet, speedBefore != speed { _ = tcflush(rawValue, TCIFLUSH) }
    return isSet
  }
}
