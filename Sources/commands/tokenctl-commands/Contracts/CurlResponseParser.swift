// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A parser of response heads as they arrive, which decides whether the server rejected the token.
struct CurlResponseParser {
    /// The result of requests with the token so far.
    enum TokenVerdict: Equatable {
        /// No response, or only interim responses and redirects. Next: `refused` or `settled`.
        case open
        /// Only rejections with 401 or 403. Next: `settled`, when any other response arrives.
        case refused
        /// A response that a new token would not change, or one from a server that did not receive the token.
        case settled
    }

    /// A response with status 401 or 403.
    struct Refusal: Equatable {
        /// The HTTP status.
        let status: Int
        /// Whether no other response came before it.
        let isFirst: Bool
        /// The `WWW-Authenticate` fields of the response.
        fileprivate(set) var challenge = ""
    }

    private(set) var refusalState = TokenVerdict.open
    /// The rejection for the agent: the first one of several requests, or the last response of one request.
    private(set) var refusal: Refusal?
    /// The nonce that the last response requires in the next proof of possession (RFC 9449 §8.1).
    private(set) var nonce: String?
    /// The HTTP status of the last response.
    private var status = 0
    private var isReadingRefusal = false
    private var hasAnswered = false
    /// Whether a redirect has led to a server that got no token, or to an unknown one.
    private var hasLeft = false
    private var lines = LineCutter()
    private let server: ServerAddress?
    private let isOfSeveral: Bool

    /// Creates a parser of the responses to one run of curl.
    ///
    /// - Parameters:
    ///   - server: The server whose responses count, until a redirect leads away from it, or `nil` to count
    ///     all.
    ///   - isOfSeveral: Whether the responses belong to several requests. If so, a response after a
    ///     rejection does not mean that curl has repeated the same request.
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
        } else if let value = CurlResponseParser.value(of: "www-authenticate", in: line) {
            guard isReadingRefusal else { return }
            let separator = refusal?.challenge.isEmpty == false ? ", " : ""
            refusal?.challenge += separator + value
        } else if let value = CurlResponseParser.value(of: "dpop-nonce", in: line) {
            nonce = CurlResponseParser.isNonce(value) ? value : nil
        } else if (300..<400).contains(status), let value = CurlResponseParser.value(of: "location", in: line)
        {
            guard let server, !CurlResponseParser.stays(value, at: server) else { return }
            hasLeft = true
            refusalState = .settled
        }
    }

    /// Parses a status line, which begins another head.
    private mutating func readStatus(_ line: String) {
        nonce = nil
        isReadingRefusal = false
        let words = line.bytewise.split(on: " ", maxSplits: 2)
        status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        // A proxy's response to CONNECT is not the server's.
        let isTunnel = status == 200 && line.bytewise.lowercased.hasSuffix("connection established")
        guard !hasLeft, !isTunnel, !(100..<200).contains(status) else { return }
        if !isOfSeveral { refusal = nil }
        switch status {
        case 401, 403:
            if refusal == nil {
                refusal = Refusal(status: status, isFirst: !hasAnswered)
                isReadingRefusal = true
            }
            if refusalState == .open { refusalState = .refused }
            hasAnswered = hasAnswered || isOfSeveral
        case 300..<400:
            // The redirected request may have been executed, so it must not be repeated together with the
            // rejected one.
            if refusalState == .refused { refusalState = .settled }
            hasAnswered = hasAnswered || isOfSeveral
        default:
            refusalState = .settled
            hasAnswered = true
        }
    }

    /// Returns whether a redirect certainly leads to the same scheme, host and port.
    private static func stays(_ location: String, at server: ServerAddress) -> Bool {
        if let next = ServerAddress(url: location) {
            return next.scheme == server.scheme && next.place == server.place
        }
        let bytes = location.utf8
        // Some parsers treat a backslash as a slash.
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

    /// Returns whether RFC 9449 §8.1 allows `text` as a nonce and its length fits into a proof.
    private static func isNonce(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count)
            && text.utf8.allSatisfy(\.isNQChar)
    }
}
