// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Testing

struct IPAddressTests {
  @Test(
    "an address is parsed, and written in its shortest form",
    arguments: [
      ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("::", "::"), ("::1", "::1"),
      ("fe80::1%eth0", "fe80::1"), ("FE80:0:0:0:0:0:0:1", "fe80::1"), ("::ffff:10.0.0.1", "10.0.0.1"),
      ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("1::", "1::"),
      ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
    ])
  func read(text: String, written: String) {
    expectEqual(IPAddress(text)?.description, written)
    expectEqual(IPAddress(written), IPAddress(text))
  }

  @Test(
    "text that is not a numeric address is rejected",
    arguments: [
      "", "localhost", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "+1.2.3.4", ":", ":::", "1::2::3",
      "1:2:3",
      "12345::", "g::", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1.2.3", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7", "١::1",
    ])
  func refused(text: String) {
    expectNil(IPAddress(text))
  }

  @Test("loopback, link-local and multicast addresses are distinguished in both families")
  func kinds() {
    func kinds(_ text: String) -> [Bool] {
      IPAddress(text).map { [$0.isV4, $0.isLoopback, $0.isLinkLocal, $0.isMulticast] } ?? []
    }
    expectEqual(kinds("127.8.9.1"), [true, true, false, false])
    expectEqual(kinds("169.254.3.1"), [true, false, true, false])
    expectEqual(kinds("239.255.46.9"), [true, false, false, true])
    expectEqual(kinds("192.168.0.1"), [true, false, false, false])
    expectEqual(kinds("::1"), [false, true, false, false])
    expectEqual(kinds("febf::1"), [false, false, true, false])
    expectEqual(kinds("fec0::1"), [false, false, false, false])
    expectEqual(kinds("ff02::1"), [false, false, false, true])
  }

  @Test(
    "a range contains the addresses with its prefix, but none of the other family",
    arguments: [
      ("192.168.0.0/24", "192.168.0.255", true), ("192.168.0.0/24", "192.168.1.0", false),
      ("192.168.0.7", "192.168.0.7", true), ("192.168.0.7", "192.168.0.6", false), ("0.0.0.0/0", "8.8.8.8", true),
      ("0.0.0.0/0", "::1", false), ("::/0", "2001:db8::1", true), ("::/0", "8.8.8.8", false),
      ("fe80::/10", "febf::9", true), ("fe80::/10", "fec0::9", false), ("2001:db8::/65", "2001:db8::7fff:0:0:0", true),
      ("2001:db8::/65", "2001:db8::8000:0:0:0", false), ("::ffff:10.0.0.0/8", "10.9.9.9", true),
    ])
  func contains(range: String, address: String, isIn: Bool) throws {
    try expectEqual(#require(AddressRange(range)).contains(try #require(IPAddress(address))), isIn)
  }

  @Test(
    "a range with bits set after its prefix, or with an invalid prefix length, is rejected",
    arguments: [
      "192.168.0.1/24", "10.0.0.0/33", "fe80::1/10", "::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "/8",
    ])
  func noRange(text: String) {
    expectNil(AddressRange(text))
  }

  @Test("only the range of a whole address family counts as everything", arguments: ["0.0.0.0/0", "::/0"])
  func everything(text: String) throws {
    expect(try #require(AddressRange(text)).coversWholeFamily)
    try expectEqual(#require(AddressRange(text)).description, text)
    expect(try !#require(AddressRange("0.0.0.0/1")).coversWholeFamily)
  }
}
