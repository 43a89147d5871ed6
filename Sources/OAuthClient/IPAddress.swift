// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An IPv4 or IPv6 address in its canonical text form, and the networks it may belong to.
struct IPAddress: Equatable, Sendable {
    /// 4 or 16 bytes, network order; an IPv4-mapped IPv6 address is kept as the 4 bytes it means.
    let bytes: [UInt8]

    /// Reads dotted decimal with four parts, or RFC 4291 text without a zone.
    init?(_ text: String) {
        if let four = IPAddress.read(text, family: AF_INET, count: 4) {
            bytes = four
        } else if let sixteen = IPAddress.read(text, family: AF_INET6, count: 16) {
            let isMapped = sixteen.prefix(10).allSatisfy { $0 == 0 } && sixteen[10...11] == [0xFF, 0xFF]
            bytes = isMapped ? Array(sixteen.suffix(4)) : sixteen
        } else {
            return nil
        }
    }

    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Not on the public Internet: loopback, link-local, private, shared or reserved (RFC 6890).
    var isInternal: Bool {
        guard bytes.count == 4 else { return isInternalIPv6 }
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (169, 254), (192, 168), (198, 18...19): return true
        case (100, 64...127), (172, 16...31), (224...255, _): return true
        case (192, 0): return bytes[2] == 0
        default: return false
        }
    }

    private var isInternalIPv6: Bool {
        if bytes.dropLast().allSatisfy({ $0 == 0 }) { return bytes[15] <= 1 }
        // fc00::/7 unique local, fe80::/10 link-local, ff00::/8 multicast, 64:ff9b::/96 may lead anywhere.
        return bytes[0] & 0xFE == 0xFC || (bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80) || bytes[0] == 0xFF
            || bytes.starts(with: [0, 0x64, 0xFF, 0x9B])
    }

    private static func read(_ text: String, family: Int32, count: Int) -> [UInt8]? {
        var address = [UInt8](repeating: 0, count: count)
        let status = unsafe address.withUnsafeMutableBytes { unsafe inet_pton(family, text, $0.baseAddress) }
        return status == 1 ? address : nil
    }
}
