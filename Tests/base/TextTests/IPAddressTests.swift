// SPDX-License-Identifier: MIT

import Testing
import Text

struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", true), ("10.1.2.3", true), ("172.16.0.1", true), ("172.31.255.255", true),
        ("172.32.0.1", false),
        ("192.168.1.1", true), ("169.254.169.254", true), ("100.64.0.1", true), ("100.128.0.1", false),
        ("0.0.0.0", true),
        ("224.0.0.1", true), ("255.255.255.255", true), ("192.0.0.8", true), ("198.18.0.1", true),
        ("8.8.8.8", false),
        ("1.1.1.1", false), ("::", true), ("::1", true), ("fe80::1", true), ("fd00::1", true),
        ("ff02::1", true),
        ("::ffff:10.0.0.1", true), ("::ffff:8.8.8.8", false), ("64:ff9b::a00:1", true),
        ("2001:4860:4860::8888", false), ("2606:4700::1111", false), ("2a00:1450:4001::200e", false),
        // 6to4, Teredo, site-local, IPv4-compatible, and what a stateless translator makes of 10.0.0.1.
        ("2002:a00:1::1", true), ("2002:808:808::1", true), ("2001:0:53aa:64c::1", true),
        ("2001::1", true), ("fec0::1", true), ("feff::1", true), ("::10.0.0.1", true), ("::8.8.8.8", true),
        ("::ffff:0:a00:1", true), ("64:ff9b:1::1", true), ("100::1", true), ("2001:db8::1", true),
        ("2001:20::1", true), ("2001:200::1", false), ("3fff::1", true), ("3fff:1000::1", false),
    ])
    func `addresses inside private networks are known`(text: String, isInternal: Bool) throws {
        #expect(try #require(IPAddress(text)).isInternal == isInternal)
    }

    @Test(arguments: [
        "", "id.example", "127.1", "0x7f.0.0.1", "1.2.3", "1.2.3.4.5", "::1%eth0", "2130706433",
    ])
    func `what is no canonical address is none`(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
