// SPDX-License-Identifier: MIT

/// Sanitizing of server text for terminals, log lines and notifications (RFC 6749 §5.2, §10.14).
package enum ServerText {
    /// The maximum length of the result in characters: enough for a sentence, too little to flood a screen.
    package static let limit = 500

    /// Returns `text` in printable ASCII, on one line, with at most `limit` characters.
    ///
    /// Control characters become spaces, and runs of spaces become one space. Everything beyond ASCII is
    /// written as `\u{…}`, so a bidirectional override, a C1 control or a partial character in the wrong
    /// terminal encoding has no effect.
    package static func cleaned(_ text: some StringProtocol, limit: Int = limit) -> String {
        var output = ""
        var count = 0
        // Further characters could change the result only after long runs of spaces.
        for scalar in text.unicodeScalars.prefix(4 * limit + 64) {
            guard let piece = visible(scalar) else {
                if output.isEmpty || output.hasSuffix(" ") { continue }
                output.append(" ")
                count += 1
                continue
            }
            guard count + piece.utf8.count <= limit else { return shortened(output, limit: limit) }
            output.append(piece)
            count += piece.utf8.count
        }
        return output.hasSuffix(" ") ? String(output.dropLast()) : output
    }

    /// Returns the scalar as shown, or `nil` for one that becomes a space.
    private static func visible(_ scalar: Unicode.Scalar) -> String? {
        switch scalar.value {
        case 0...0x20, 0x7F...0xA0: nil
        case 0x21...0x7E: String(scalar)
        default: "\\u{\(String(scalar.value, radix: 16))}"
        }
    }

    /// Returns the beginning of `output`, which is ASCII, without a part of an escape at its end.
    ///
    /// The escape may be an earlier one, of text that was cleaned before.
    private static func shortened(_ output: String, limit: Int) -> String {
        let mark = limit > 3 ? "..." : ""
        var kept = output.utf8.prefix(max(0, limit - mark.utf8.count))
        if let start = kept.lastIndex(of: UInt8(ascii: "\\")), !kept[start...].contains(UInt8(ascii: "}")),
            output.utf8[start...].starts(with: "\\u{".utf8)
        {
            kept = kept[..<start]
        }
        return String(Substring(kept)) + mark
    }
}
