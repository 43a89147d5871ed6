// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Removal of secrets from text written by others, in each encoding that a server may echo.
///
/// The text may have been cut. So a long beginning of an encoded secret counts too, and so does a beginning
/// cut by ``ServerText``.
struct Redaction {
    /// The replacement for a secret.
    static let mark = "[redacted]"
    /// The minimum length in bytes of a secret that is searched for.
    ///
    /// A shorter one could occur in any text.
    static let shortest = 4
    /// The number of bytes of a secret's beginning that count as the whole secret.
    static let minimumPieceLength = 12

    /// One secret in one encoding.
    ///
    /// A secret is encoded whole only when its first bytes have been found.
    private struct EncodedSecret {
        var encoding: Encoding
        var secret: Int
    }

    private let secrets: [[UInt8]]
    /// The encoded secrets by their first bytes.
    private var encodedSecrets: [UInt32: [EncodedSecret]] = [:]

    init(_ secrets: [[UInt8]]) {
        self.secrets = secrets.filter { $0.count >= Redaction.shortest }
        for (number, secret) in self.secrets.enumerated() {
            for encoding in Encoding.allCases {
                let start = encoding.encode(secret.prefix(Redaction.minimumPieceLength))
                guard let key = Redaction.key(start[...]) else { continue }
                encodedSecrets[key, default: []].append(EncodedSecret(encoding: encoding, secret: number))
            }
        }
    }

    /// The maximum number of times that text is percent-decoded.
    ///
    /// Some servers encode text that is already encoded.
    private static let maximumDecodings = 2

    /// Replaces the secrets in `text`.
    ///
    /// A server may percent-encode any byte of a secret, so the decoded text is searched too.
    func applied(to text: String) -> String {
        var bytes = Array(text.utf8)
        for decodings in 0...Redaction.maximumDecodings {
            guard let view = PercentView(of: bytes, decodedTimes: decodings) else { break }
            bytes = redacted(bytes, as: view)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Replaces the parts of `bytes` that are secrets in `view`.
    private func redacted(_ bytes: [UInt8], as view: PercentView) -> [UInt8] {
        var output: [UInt8] = []
        var index = 0
        while index < view.bytes.count {
            let count = match(view.bytes[index...])
            if count > 0 {
                output += Redaction.mark.utf8
            } else {
                output += bytes[view.starts[index]..<view.starts[index + 1]]
            }
            index += max(count, 1)
        }
        return output
    }

    /// Returns the number of bytes at the start of `rest` that are a secret, or 0 if there is none.
    private func match(_ rest: ArraySlice<UInt8>) -> Int {
        guard let key = Redaction.key(rest), let candidates = encodedSecrets[key] else { return 0 }
        return candidates.map { length(of: $0, in: rest) }.max() ?? 0
    }

    private func length(of encoded: EncodedSecret, in rest: ArraySlice<UInt8>) -> Int {
        let whole = encoded.encoding.encode(secrets[encoded.secret])
        let common = zip(whole, rest).prefix { $0 == $1 }.count
        let after = rest.dropFirst(common)
        if common == whole.count { return common + encoded.encoding.trailer(after) }
        // After so long a match, the next bytes are the rest of the secret in another encoding.
        if common >= Redaction.minimumPieceLength { return rest.prefix { $0 != UInt8(ascii: " ") }.count }
        return after.starts(with: "...".utf8) ? common : 0
    }

    private static func key(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= shortest else { return nil }
        return bytes.prefix(shortest).reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Percent-decoded text, and the position of each byte in the original.
private struct PercentView {
    var bytes: [UInt8]
    /// The index in the original of each byte, followed by the original's end.
    var starts: [Int]

    /// Decodes `text` `count` times, or returns `nil` if the last time changes nothing.
    init?(of text: [UInt8], decodedTimes count: Int) {
        bytes = text
        starts = Array(0...text.count)
        for _ in 0..<count {
            let before = bytes.count
            decode()
            guard bytes.count < before else { return nil }
        }
    }

    private mutating func decode() {
        var decoded: [UInt8] = []
        var places: [Int] = []
        var index = 0
        while index < bytes.count {
            places.append(starts[index])
            let digits = bytes[(index + 1)...].prefix(2).compactMap(\.hexDigitValue)
            if bytes[index] == UInt8(ascii: "%"), digits.count == 2 {
                decoded.append(digits[0] << 4 | digits[1])
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        places.append(starts[bytes.count])
        (bytes, starts) = (decoded, places)
    }
}

/// The ways to write a secret in a text.
private enum Encoding: Hashable, CaseIterable {
    case plain
    /// The secret as ``ServerText`` shows it.
    case shown
    /// Escapes for all but unreserved characters (RFC 3986 §2.3).
    case percent(isUpper: Bool)
    /// Escapes for every byte.
    case escaped(isUpper: Bool)
    case form(isUpper: Bool)
    /// A string inside JSON that is quoted in other JSON.
    ///
    /// Servers differ about `/`.
    case json(escapesSlash: Bool)
    case hex(isUpper: Bool)
    /// The secret begins `offset` bytes into a group, as in Basic credentials.
    case base64(offset: Int, isURLSafe: Bool)
    /// The secret in OAuth's Basic credentials (RFC 6749 §2.3.1).
    case credentials(offset: Int)

    static let allCases: [Encoding] =
        [.plain, .shown] + (0..<3).map { .credentials(offset: $0) }
        + [true, false].flatMap { choice -> [Encoding] in
            [
                .percent(isUpper: choice), .escaped(isUpper: choice), .form(isUpper: choice),
                .json(escapesSlash: choice), .hex(isUpper: choice),
            ] + (0..<3).map { .base64(offset: $0, isURLSafe: choice) }
        }

    /// Encodes `secret`.
    ///
    /// The encoded beginning of a secret is the beginning of the encoded secret.
    func encode(_ secret: some Collection<UInt8>) -> [UInt8] {
        switch self {
        case .plain: Array(secret)
        case .shown: shown(secret)
        case .percent(let isUpper):
            secret.flatMap { $0.isUnreserved ? [$0] : Encoding.escape($0, isUpper: isUpper) }
        case .escaped(let isUpper): secret.flatMap { Encoding.escape($0, isUpper: isUpper) }
        case .form(let isUpper):
            secret.flatMap { byte -> [UInt8] in
                var bytes: [UInt8] = []
                FormEncoding.encode(byte) { bytes.append($0) }
                return bytes.count == 3 ? Encoding.escape(byte, isUpper: isUpper) : bytes
            }
        case .json(let escapesSlash): json(secret, escapesSlash: escapesSlash)
        case .hex(let isUpper): secret.flatMap { Encoding.digits($0, isUpper: isUpper) }
        case .base64(let offset, let isURLSafe): base64(secret, after: offset, isURLSafe: isURLSafe)
        case .credentials(let offset):
            base64(Encoding.form(isUpper: true).encode(secret), after: offset, isURLSafe: false)
        }
    }

    /// Returns the number of bytes after a match that belong to it: the last digit of an incomplete group,
    /// and its padding.
    func trailer(_ rest: ArraySlice<UInt8>) -> Int {
        switch self {
        case .base64, .credentials: break
        case .plain, .shown, .percent, .escaped, .form, .json, .hex: return 0
        }
        let digit =
            rest.first.map { $0.isASCIIDigit || $0.isASCIILetter || "+/-_".utf8.contains($0) } ?? false
        let start = digit ? 1 : 0
        return start + rest.dropFirst(start).prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
    }

    private func shown(_ secret: some Collection<UInt8>) -> [UInt8] {
        let text = String(decoding: secret, as: UTF8.self)
        return Array(ServerText.cleaned(text, limit: 10 * secret.count + 16).utf8)
    }

    private func json(_ secret: some Collection<UInt8>, escapesSlash: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONStringWriter.write(secret) { byte in
            if escapesSlash, byte == UInt8(ascii: "/") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return Array(bytes.dropFirst().dropLast())
    }

    /// Returns the digits that depend only on the secret and not on the bytes next to it.
    private func base64(_ secret: some Collection<UInt8>, after offset: Int, isURLSafe: Bool) -> [UInt8] {
        let bytes = [UInt8](repeating: 0, count: offset) + secret
        let text = isURLSafe ? Base64.urlEncoded(bytes) : Base64.encoded(bytes)
        return Array(text.utf8.prefix(bytes.count * 8 / 6).dropFirst(offset == 0 ? 0 : offset + 1))
    }

    private static func escape(_ byte: UInt8, isUpper: Bool) -> [UInt8] {
        [UInt8(ascii: "%")] + digits(byte, isUpper: isUpper)
    }

    private static func digits(_ byte: UInt8, isUpper: Bool) -> [UInt8] {
        let (high, low) = Hex.digits(of: byte, isUpper: isUpper)
        return [high, low]
    }
}
