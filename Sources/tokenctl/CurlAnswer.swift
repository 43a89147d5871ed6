// SPDX-License-Identifier: MIT

/// The heads of curl's answers as they arrive: whether the server refused the token.
struct CurlAnswer {
    enum Verdict: Equatable {
        /// No answer yet, an interim one or a redirect.
        case open
        /// The last answer is 401 or 403.
        case refused
        /// An answer that a new token would not change.
        case settled
    }

    private(set) var verdict = Verdict.open
    /// The HTTP status of the last answer.
    private(set) var status = 0
    /// The `WWW-Authenticate` fields of the last answer.
    private(set) var challenge = ""
    /// What the last answer wants to see in the next proof of possession (RFC 9449 §8.1).
    private(set) var nonce: String?
    /// All heads, as they came.
    private(set) var bytes: [UInt8] = []
    private var lineStart = 0

    /// Whether nothing was wrong but the nonce of the proof (RFC 9449 §9).
    var wantsNonce: Bool {
        guard status == 401, nonce != nil else { return false }
        return Challenges(challenge).value(of: "error", scheme: "DPoP") == "use_dpop_nonce"
    }

    mutating func append(_ read: [UInt8]) {
        bytes += read
        while let end = bytes[lineStart...].firstIndex(of: 0x0A) {
            let line = String(decoding: bytes[lineStart..<end], as: UTF8.self)
            lineStart = end + 1
            readLine(line.hasSuffix("\r") ? line.dropLast() : line[...])
        }
    }

    private mutating func readLine(_ line: Substring) {
        if line.hasPrefix("HTTP/") {
            challenge = ""
            nonce = nil
            let words = line.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            // A proxy's answer to CONNECT is not the server's.
            let isTunnel = status == 200 && line.lowercased().hasSuffix("connection established")
            guard verdict != .settled else { return }
            switch status {
            case 100..<200, 300..<400: verdict = .open
            case 401, 403: verdict = .refused
            default: verdict = isTunnel ? .open : .settled
            }
        } else if let value = CurlAnswer.value(of: "www-authenticate", in: line) {
            challenge += (challenge.isEmpty ? "" : ", ") + value
        } else if let value = CurlAnswer.value(of: "dpop-nonce", in: line) {
            nonce = CurlAnswer.isNonce(value) ? value : nil
        }
    }

    private static func value(of field: String, in line: Substring) -> String? {
        guard line.lowercased().hasPrefix(field + ":") else { return nil }
        var value = line.dropFirst(field.count + 1).drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" { value.removeLast() }
        return String(value)
    }

    /// What RFC 9449 §8.1 allows, of a length that fits into a proof.
    private static func isNonce(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}
