// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Reads the heads of a server's answers as they arrive and decides whether the server refused the token.
struct CurlResponse {
    /// What requests with the token have come to so far.
    enum Verdict: Equatable {
        /// No answer yet, an interim one or a redirect. Next: `refused` or `settled`.
        case open
        /// The server has done nothing yet but refuse, with 401 or 403. Next: `settled`, when any other answer comes.
        case refused
        /// An answer has come that a new token would not change, or one of a server that never saw the token.
        case settled
    }

    /// An answer that is 401 or 403.
    struct Refusal: Equatable {
        /// The HTTP status.
        let status: Int
        /// Whether no other answer came before it.
        let isFirst: Bool
        /// Its `WWW-Authenticate` fields.
        fileprivate(set) var challenge = ""
    }

    private(set) var verdict = Verdict.open
    /// The refusal that the agent is to judge: the first one of several requests; for one request, its last answer.
    private(set) var refusal: Refusal?
    /// The nonce that the last answer wants in the next proof of possession (RFC 9449 §8.1).
    private(set) var nonce: String?
    /// The HTTP status of the last answer.
    private var status = 0
    private var isReadingRefusal = false
    private var hasAnswered = false
    /// Whether a redirect has led to a server that got no token, or one that we know nothing of.
    private var hasLeft = false
    private var lines = LineCutter()
    private let server: ServerAddress?
    private let isOfSeveral: Bool

    /// - Parameters:
    ///   - server: answers count only until a redirect leads away from it; `nil`: all count.
    ///   - isOfSeveral: whether the answers are those of several requests, so that one after a refusal does not mean that
    ///     curl has tried the same request again.
    init(of server: ServerAddress? = nil, isOfSeveral: Bool = false) {
        self.server = server
        self.isOfSeveral = isOfSeveral
    }

    /// Whether only the nonce of the proof was wrong or missing (RFC 9449 §9).
    var wantsNonce: Bool {
        guard let refusal, refusal.status == 401, nonce != nil else { return false }
        return Challenges(refusal.challenge).value(of: "error", scheme: "DPoP") == "use_dpop_nonce"
    }

    mutating func append(_ read: [UInt8]) {
        lines.append(read)
        while let line = lines.next() {
            readLine(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
        }
    }

    private mutating func readLine(_ line: String) {
        if line.bytewise.hasPrefix("HTTP/") {
            readStatus(line)
        } else if let value = CurlResponse.value(of: "www-authenticate", in: line) {
            guard isReadingRefusal else { return }
            let separator = refusal?.challenge.isEmpty == false ? ", " : ""
            refusal?.challenge += separator + value
        } else if let value = CurlResponse.value(of: "dpop-nonce", in: line) {
            nonce = CurlResponse.isNonce(value) ? value : nil
        } else if (300..<400).contains(status), let value = CurlResponse.value(of: "location", in: line) {
            guard let server, !CurlResponse.stays(value, at: server) else { return }
            hasLeft = true
            verdict = .settled
        }
    }

    /// Begins with another head.
    private mutating func readStatus(_ line: String) {
        nonce = nil
        isReadingRefusal = false
        let words = line.bytewise.split(on: " ", maxSplits: 2)
        status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        // A proxy's answer to CONNECT is not the server's.
        let isTunnel = status == 200 && line.bytewise.lowercased.hasSuffix("connection established")
        guard !hasLeft, !isTunnel, !(100..<200).contains(status) else { return }
        if !isOfSeveral { refusal = nil }
        switch status {
        case 401, 403:
            if refusal == nil {
                refusal = Refusal(status: status, isFirst: !hasAnswered)
                isReadingRefusal = true
            }
            if verdict == .open { verdict = .refused }
            hasAnswered = hasAnswered || isOfSeveral
        case 300..<400:
            // What a redirect answers may have been carried out, and is not asked for again with what was refused.
            if verdict == .refused { verdict = .settled }
            hasAnswered = hasAnswered || isOfSeveral
        default:
            verdict = .settled
            hasAnswered = true
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
