// SPDX-License-Identifier: MIT

/// The heads of curl's answers as they arrive: whether the server refused the token.
struct CurlAnswer {
    enum Verdict: Equatable {
        /// No answer yet, an interim one or a redirect.
        case open
        /// The last answer is 401.
        case refused
        /// An answer that a new token would not change.
        case settled
    }

    private(set) var verdict = Verdict.open
    /// The `WWW-Authenticate` fields of the last answer.
    private(set) var challenge = ""
    /// All heads, as they came.
    private(set) var bytes: [UInt8] = []
    private var lineStart = 0

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
            let words = line.split(separator: " ", maxSplits: 2)
            let status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            // A proxy's answer to CONNECT is not the server's.
            let isTunnel = status == 200 && line.lowercased().hasSuffix("connection established")
            guard verdict != .settled else { return }
            switch status {
            case 100..<200, 300..<400: verdict = .open
            case 401: verdict = .refused
            default: verdict = isTunnel ? .open : .settled
            }
        } else if line.lowercased().hasPrefix("www-authenticate:") {
            let value = line.dropFirst(17).drop { $0 == " " || $0 == "\t" }
            challenge += (challenge.isEmpty ? "" : ", ") + value
        }
    }
}
