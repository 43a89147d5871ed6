// SPDX-License-Identifier: MIT

/// Classes of bytes that the words of every protocol here are made of.
extension UInt8 {
    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    /// A printable character other than the blank, as in tokens and names on a line (VSCHAR without the
    /// blank, RFC 6749 Appendix A).
    @inlinable package var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }

    /// A visible character other than quote and backslash, as in scopes (NQCHAR, RFC 6749 Appendix A).
    package var isNQChar: Bool {
        isVisibleASCII && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }

    /// Whether it stands for itself in every part of an address (RFC 3986 §2.3).
    package var isUnreserved: Bool { isASCIIDigit || isASCIILetter || "-._~".utf8.contains(self) }

    /// `A` to `Z` in lower case, everything else as it is.
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    /// Its value as a hexadecimal digit of either case; `nil`: it is not one.
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
    /// Visible ASCII and nothing else, at least one byte: what can be a token, or a name on a line.
    @inlinable package var isVisibleWord: Bool { !isEmpty && allSatisfy(\.isVisibleASCII) }
}
