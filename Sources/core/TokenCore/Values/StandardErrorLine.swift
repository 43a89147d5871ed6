// SPDX-License-Identifier: MIT

/// The first line that a program wrote to its standard error, safe for a message, a log line or a terminal.
///
/// The program may have written anything: escape sequences, megabytes, the secret that it was to print.
package struct StandardErrorLine: Equatable, Sendable, CustomStringConvertible {
    /// The maximum length of the text in characters.
    private static let limit = 200
    /// The replacement for a secret.
    private static let mark = Array("[redacted]".utf8)
    /// The minimum length in bytes of a word of the output that is searched for.
    ///
    /// Shorter ones could be in any sentence.
    private static let minimumWordLength = 6
    /// The minimum length in bytes of a word that counts as a key or token by its look.
    private static let minimumTokenLength = 32

    /// The line in printable ASCII.
    package let description: String

    /// Creates a complaint from the beginning of a program's standard error, or `nil` without visible text.
    ///
    /// - Parameters:
    ///   - errors: its standard error.
    ///   - output: its standard output, which is secret. None of its words is repeated.
    package init?(standardError errors: [UInt8], standardOutput output: [UInt8] = []) {
        let plain = StandardErrorLine.withoutEscapeSequences(errors)
        let lines = plain.split { $0 == 0x0A || $0 == 0x0D }
        guard let line = lines.first(where: { $0.contains { $0 > 0x20 && $0 < 0x7F } }) else { return nil }
        let redacted = StandardErrorLine.redacted(line, secret: output)
        description = ServerText.cleaned(String(decoding: redacted, as: UTF8.self), limit: Self.limit)
    }

    /// Whether the program reports a wrong password or PIN.
    ///
    /// Another attempt could lock an account or a card.
    var rejectsCredential: Bool {
        let text = description.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        func contains(_ phrase: String) -> Bool {
            let phrase = Array(phrase.utf8)
            guard text.count >= phrase.count else { return false }
            return (0...(text.count - phrase.count)).contains { text[$0...].starts(with: phrase) }
        }
        return Self.credentials.contains { credential in
            Self.verdicts.contains { contains("\($0) \(credential)") }
                || Self.verdicts.contains {
                    contains("\(credential) \($0)") || contains("\(credential) is \($0)")
                }
        } || Self.codes.contains(where: contains)
    }

    private static let credentials = ["password", "passphrase", "pin", "passcode"]
    private static let verdicts = ["bad", "wrong", "incorrect", "invalid"]
    /// The codes that PKCS#11 and OpenSC write.
    private static let codes = ["ckr_pin_incorrect", "ckr_pin_locked", "pin blocked", "pin locked"]

    /// Removes control sequences (ECMA-48 §5.4), or only their introducer if they never end.
    private static func withoutEscapeSequences(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                output.append(byte)
                continue
            }
            guard rest.first == UInt8(ascii: "[") else { continue }
            rest.removeFirst()
            rest = rest.drop { (0x20...0x3F).contains($0) }
            if let last = rest.first, (0x40...0x7E).contains(last) { rest.removeFirst() }
        }
        return output
    }

    /// Replaces words of `secret`, and words that look like keys or tokens.
    private static func redacted(_ line: ArraySlice<UInt8>, secret: [UInt8]) -> [UInt8] {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let whole = secret.drop(while: blanks.contains).reversed().drop(while: blanks.contains).reversed()
        var secrets = secret.split { !isTokenByte($0) }.map(Array.init)
            .filter { $0.count >= minimumWordLength }
        if whole.count >= minimumWordLength { secrets.insert(Array(whole), at: 0) }
        var output: [UInt8] = []
        var rest = line
        while let byte = rest.first {
            if let found = secrets.first(where: { rest.starts(with: $0) }) {
                output += mark
                rest = rest.dropFirst(found.count)
                continue
            }
            let isStart = output.last.map { !isTokenByte($0) } ?? true
            let word = isStart ? rest.prefix(while: isTokenByte) : []
            if word.count >= minimumTokenLength, word.contains(where: isDigit), !word.allSatisfy(isDigit) {
                output += mark
                rest = rest.dropFirst(word.count)
                continue
            }
            output.append(byte)
            rest = rest.dropFirst()
        }
        return output
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Returns whether `byte` is a letter, a digit or another character of Base64 or JWTs, but not a slash.
    ///
    /// Paths are not secrets.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x5A).contains(byte & 0xDF) || "-._~+=".utf8.contains(byte)
    }
}
