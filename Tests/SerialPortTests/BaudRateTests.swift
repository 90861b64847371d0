// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import SerialPort
import Testing

struct BaudRateTests {
  @Test("termios has a constant for every speed that can be set or is tried")
  func all() {
    expect(Set(BaudProbe.rates).isSubset(of: BaudRate.all))
  }
}
