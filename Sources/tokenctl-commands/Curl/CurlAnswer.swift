// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Reads the heads of a server's answers as they arrive and decides whether the server refused the token.
struct CurlAnswer {
    enum Verdict: Equatable {
        /// No answer yet, an interim one or a redirect.
        case open
        /// The last answer is 401 or 403.
        case refused
        /// An answer that a new token would not change, or one of a server that never saw the token.
        case settled
    }

    private(set) var verdict = Verdict.open
    /// The HTTP status of the last answer.
    private(set) var status = 0
    /// The `WWW-Authenticate` fields of the last answer.
    private(set) var challenge = ""
    /// The nonce that the last answer wants in the next proof of possession (RFC 9449 §8.1).
    private(set) var nonce: String?
    private var lines = LineCutter()
    private let server: ServerAddress?

    /// With a `server`, answers count only until a redirect leads away from it.
    init(of server: ServerAddress? = nil) {
        self.server = server
    }

    /// Whether only the nonce of the proof was wrong or missing (RFC 9449 §9).
    var wantsNonce: Bool {
        guard status == 401, nonce != nil else { return false }
        return Challenges(challenge).value(of: "error", scheme: "DPoP") == "use_dpop_nonce"
    }

    mutating func append(_ read: [UInt8]) {
        lines.append(read)
        while let line = lines.next() {
            readLine(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
        }
    }

    private mutating func readLine(_ line: String) {
        if line.bytewise.hasPrefix("HTTP/") {
            challenge = ""
            nonce = nil
            let words = line.bytewise.split(on: " ", maxSplits: 2)
            status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            // A proxy's answer to CONNECT is not the server's.
            let isTunnel = status == 200 && line.bytewise.lowercased.hasSuffix("connection established")
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
        } else if (300..<400).contains(status), let value = CurlAnswer.value(of: "location", in: line) {
            // The server that answers next got no token, or one that we know nothing of.
            if let server, !CurlAnswer.stays(value, at: server) { verdict = .settled }
        }
    }

    /// Whether a redirect surely leads to the same scheme, host and port.
    private static func stays(_ location: String, at server: ServerAddress) -> Bool {
        if let next = ServerAddress(url: location) {
            return next.scheme == server.scheme && next.place == server.place
        }
        let bytes = location.utf8
        // Some readers take a backslash for a slash.
        guard !bytes.isEmpty, !bytes.contains(UInt8(ascii: "\\")), !bytes.starts(with: "//".utf8) else {
            return false
        }
        // RFC 3986 §4.2: a relative reference has no colon in its first segment.
        let segment = bytes.prefix { !"/?#".utf8.contains($0) }
        return !segment.contains(UInt8(ascii: ":"))
    }

    private static func value(of field: ByteText, in line: String) -> String? {
        let parts = line.bytewise.split(on: ":", maxSplits: 1, omittingEmpty: false)
        guard parts.count == 2, parts[0].bytewise.lowercased == field else { return nil }
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let value = parts[1].utf8.drop(while: isBlank)
        guard let last = value.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(decoding: Array(value[...last]), as: UTF8.self)
    }

    /// Whether RFC 9449 §8.1 allows the text as a nonce, and its length fits into a proof.
    private static func isNonce(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count)
            && text.utf8.allSatisfy(\.isNQChar)
    }
}
