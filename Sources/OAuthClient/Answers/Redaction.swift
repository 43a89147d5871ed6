// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Takes secrets out of text that somebody else wrote, in each form in which a server may echo what it was sent.
///
/// The text may have been cut: a long beginning of a form counts too, and so does one cut by ``ServerText``.
struct Redaction {
    /// What stands where a secret stood.
    static let mark = "[redacted]"
    /// Bytes of the shortest secret that is looked for: a shorter one could stand in any text.
    static let shortest = 4
    /// Bytes of a secret's beginning that count as the whole secret.
    static let leastPiece = 12

    /// One secret in one encoding; it is encoded whole only when its first bytes have been found.
    private struct Form {
        var encoding: Encoding
        var secret: Int
    }

    private let secrets: [[UInt8]]
    /// By the first bytes of the form.
    private var forms: [UInt32: [Form]] = [:]

    init(_ secrets: [[UInt8]]) {
        self.secrets = secrets.filter { $0.count >= Redaction.shortest }
        for (number, secret) in self.secrets.enumerated() {
            for encoding in Encoding.allCases {
                let start = encoding.encode(secret.prefix(Redaction.leastPiece))
                guard let key = Redaction.key(start[...]) else { continue }
                forms[key, default: []].append(Form(encoding: encoding, secret: number))
            }
        }
    }

    /// How often text is percent-decoded to look for a secret in it: some servers encode what is encoded already.
    private static let mostDecodings = 2

    /// `text` without the secrets.
    ///
    /// A server may percent-encode any of a secret's bytes, so the text is also searched as it reads when decoded.
    func applied(to text: String) -> String {
        var bytes = Array(text.utf8)
        for decodings in 0...Redaction.mostDecodings {
            guard let view = PercentView(of: bytes, decodedTimes: decodings) else { break }
            bytes = redacted(bytes, as: view)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `bytes` without the secrets that are found in `view` of them.
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

    /// Bytes at the start of `rest` that are a secret; 0: none.
    private func match(_ rest: ArraySlice<UInt8>) -> Int {
        guard let key = Redaction.key(rest), let candidates = forms[key] else { return 0 }
        return candidates.map { length(of: $0, in: rest) }.max() ?? 0
    }

    private func length(of form: Form, in rest: ArraySlice<UInt8>) -> Int {
        let whole = form.encoding.encode(secrets[form.secret])
        let common = zip(whole, rest).prefix { $0 == $1 }.count
        let after = rest.dropFirst(common)
        if common == whole.count { return common + form.encoding.trailer(after) }
        // What follows so long a match is the rest of the secret, written in another way.
        if common >= Redaction.leastPiece { return rest.prefix { $0 != UInt8(ascii: " ") }.count }
        return after.starts(with: "...".utf8) ? common : 0
    }

    private static func key(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= shortest else { return nil }
        return bytes.prefix(shortest).reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Text as it reads when its percent-encoding is undone, and where each of its bytes stands in the text.
private struct PercentView {
    var bytes: [UInt8]
    /// For each byte the index where it begins in the text, and the text's end.
    var starts: [Int]

    /// `text` after so many decodings, or `nil` if the last of them changes nothing.
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

/// The ways in which a text may write a secret.
private enum Encoding: Hashable, CaseIterable {
    case plain
    /// As ``ServerText`` shows it.
    case shown
    /// Escapes for all but unreserved characters (RFC 3986 §2.3).
    case percent(isUpper: Bool)
    /// Escapes for every byte.
    case escaped(isUpper: Bool)
    case form(isUpper: Bool)
    /// Inside a JSON text that is quoted in another one; servers differ about `/`.
    case json(escapesSlash: Bool)
    case hex(isUpper: Bool)
    /// The secret begins `offset` bytes into a group, as it does in Basic credentials.
    case base64(offset: Int, isURLSafe: Bool)
    /// In Basic credentials as OAuth has them (RFC 6749 §2.3.1).
    case credentials(offset: Int)

    static let allCases: [Encoding] =
        [.plain, .shown] + (0..<3).map { .credentials(offset: $0) }
        + [true, false].flatMap { choice -> [Encoding] in
            [
                .percent(isUpper: choice), .escaped(isUpper: choice), .form(isUpper: choice),
                .json(escapesSlash: choice), .hex(isUpper: choice),
            ] + (0..<3).map { .base64(offset: $0, isURLSafe: choice) }
        }

    /// Encodes `secret`; encoding its beginning gives the beginning of the result.
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

    /// Bytes behind a match that belong to it: the last digit of an incomplete group, and its padding.
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
        JSONString.write(secret) { byte in
            if escapesSlash, byte == UInt8(ascii: "/") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return Array(bytes.dropFirst().dropLast())
    }

    /// The digits that depend on the secret alone, not on the bytes next to it.
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
