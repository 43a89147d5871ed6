// SPDX-License-Identifier: MIT

/// Byte classes used by the protocols of this project.
extension UInt8 {
    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    /// Whether the byte is printable ASCII other than the space (VSCHAR without the space, RFC 6749 Appendix
    /// A).
    @inlinable package var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }

    /// Whether the byte is visible and neither a quote nor a backslash, as in scopes (NQCHAR, RFC 6749
    /// Appendix A).
    package var isNQChar: Bool {
        isVisibleASCII && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }

    /// Whether the byte needs no escape in any part of a URL (RFC 3986 §2.3).
    package var isUnreserved: Bool { isASCIIDigit || isASCIILetter || "-._~".utf8.contains(self) }

    /// The byte with `A` to `Z` in lower case, any other byte unchanged.
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    /// The value of a hexadecimal digit of either case, or `nil` if the byte is not one.
    package var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Collection where Element == UInt8 {
    /// Whether the bytes are visible ASCII only, and at least one, as tokens and names on a line must be.
    @inlinable package var isVisibleWord: Bool { !isEmpty && allSatisfy(\.isVisibleASCII) }
}
