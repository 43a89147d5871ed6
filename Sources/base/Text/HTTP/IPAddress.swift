// SPDX-License-Identifier: MIT

import Glibc

/// An IPv4 or IPv6 address.
package struct IPAddress: Hashable, Sendable {
    /// The 4 or 16 bytes in network order.
    ///
    /// An IPv4-mapped IPv6 address is stored as its 4 bytes.
    package let bytes: [UInt8]

    /// Parses four decimal parts with dots, or an RFC 4291 text without a zone.
    ///
    /// Returns `nil` for anything else.
    package init?(_ text: String) {
        if let four = IPAddress.read(text, family: AF_INET, count: 4) {
            bytes = four
        } else if let sixteen = IPAddress.read(text, family: AF_INET6, count: 16) {
            let isMapped = sixteen.prefix(10).allSatisfy { $0 == 0 } && sixteen[10...11] == [0xFF, 0xFF]
            bytes = isMapped ? Array(sixteen.suffix(4)) : sixteen
        } else {
            return nil
        }
    }

    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether the address is not on the public Internet: loopback, link-local, private, shared or reserved
    /// (RFC 6890).
    package var isInternal: Bool {
        guard bytes.count == 4 else { return isInternalIPv6 }
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (169, 254), (192, 168), (198, 18...19): return true
        case (100, 64...127), (172, 16...31), (224...255, _): return true
        case (192, 0): return bytes[2] == 0
        default: return false
        }
    }

    /// Whether an IPv6 address is not on the public Internet.
    ///
    /// Only 2000::/3 is allocated for the public Internet, except for some parts (RFC 6890, RFC 4291 §2.5).
    /// So site-local fec0::/10, IPv4-compatible ::/96 and translated addresses (64:ff9b::/96,
    /// ::ffff:0:0:0/96) are internal without being listed. Addresses that embed an arbitrary IPv4 address may
    /// lead anywhere, so they are internal whatever they embed.
    private var isInternalIPv6: Bool {
        guard bytes[0] & 0xE0 == 0x20 else { return true }
        switch (bytes[0], bytes[1]) {
        // 2001::/23 includes Teredo. 2001:db8::/32 is for examples.
        case (0x20, 0x01): return bytes[2] < 2 || bytes[2...3] == [0x0D, 0xB8]
        // 6to4.
        case (0x20, 0x02): return true
        // 3fff::/20 is for examples too.
        case (0x3F, 0xFF): return bytes[2] & 0xF0 == 0
        default: return false
        }
    }

    private static func read(_ text: String, family: Int32, count: Int) -> [UInt8]? {
        var address = [UInt8](repeating: 0, count: count)
        let status = unsafe address.withUnsafeMutableBytes { unsafe inet_pton(family, text, $0.baseAddress) }
        return status == 1 ? address : nil
    }
}
