// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import SerialPort
import Testing

struct BaudRateTests {
  @Test("every baud rate that detection tries can be set")
  func all() {
    expect(Set(BaudProbe.rates).isSubset(of: BaudRate.all))
  }
}
