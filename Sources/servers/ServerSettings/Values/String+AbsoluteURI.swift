// SPDX-License-Identifier: MIT

import Text

extension String {
    /// Whether the text is an absolute URI without fragment (RFC 3986 §4.3), as RFC 8707 §2 requires of a
    /// `resource`.
    package var isAbsoluteURI: Bool {
        guard let colon = firstIndex(of: ":"), colon != startIndex, !contains("#"),
            utf8.allSatisfy(\.isVisibleASCII)
        else { return false }
        let scheme = self[..<colon].utf8
        return scheme.first?.isASCIILetter == true && index(after: colon) != endIndex
            && scheme.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }
}
