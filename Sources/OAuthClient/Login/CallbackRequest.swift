// SPDX-License-Identifier: MIT

/// What a request to the redirect listener is (RFC 8252 §7.3), decided from its head alone.
enum CallbackRequest: Equatable {
    /// More bytes are needed.
    case incomplete
    /// `GET /callback?…`: the query, not yet believed.
    case callback(String)
    case refused(status: Int)

    /// Request line and headers together.
    static let headLimit = 8 << 10
    static let path = "/callback"

    /// Reads the bytes received so far.
    ///
    /// - Parameters:
    ///   - bytes: from the start of the connection.
    ///   - host: the only `Host` we answer to, which keeps rebound names out.
    init(_ bytes: some Collection<UInt8>, host: String) {
        guard let head = CallbackRequest.head(of: Array(bytes.prefix(CallbackRequest.headLimit + 4))) else {
            self = bytes.count >= CallbackRequest.headLimit ? .refused(status: 431) : .incomplete
            return
        }
        // In ASCII, characters are bytes; anything else has no place in a request.
        guard head.allSatisfy({ $0 < 0x80 }) else {
            self = .refused(status: 400)
            return
        }
        let text = String(decoding: head, as: UTF8.self)
        self = CallbackRequest.read(
            text.split(separator: "\r\n", omittingEmptySubsequences: false),
            host: host
        )
    }

    /// What stands before the empty line; `nil` as long as there is none.
    private static func head(of bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        var rest = bytes[...]
        while let start = rest.firstIndex(of: end[0]) {
            rest = rest[start...]
            if rest.starts(with: end) { return bytes[..<start] }
            rest = rest.dropFirst()
        }
        return nil
    }

    private static func read(_ lines: [Substring], host: String) -> CallbackRequest {
        guard lines.allSatisfy({ $0.utf8.allSatisfy { $0 == 0x09 || (0x20...0x7E).contains($0) } }) else {
            return .refused(status: 400)
        }
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[1].utf8.allSatisfy({ $0 != 0x09 }),
            words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0",
            hosts(lines.dropFirst()) == [host]
        else { return .refused(status: 400) }
        guard words[0] == "GET" else { return .refused(status: 405) }
        let parts = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == path else { return .refused(status: 404) }
        guard parts.count == 2 else { return .refused(status: 400) }
        return .callback(String(parts[1]))
    }

    private static func hosts(_ lines: ArraySlice<Substring>) -> [String] {
        lines.compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].lowercased() == "host" else { return nil }
            return String(parts[1].drop { $0 == " " || $0 == "\t" })
        }
    }
}

/// The pages the redirect listener shows: fixed text, nothing of the request in them.
enum CallbackPage {
    /// A whole HTTP response; only status 200 says that the response was taken.
    static func response(status: Int) -> String {
        let (reason, text) =
            switch status {
            case 200: ("OK", "The login has been handed to tokenagent. You can close this page.")
            case 404: ("Not Found", "There is nothing here.")
            case 405: ("Method Not Allowed", "This address answers GET only.")
            case 431: ("Request Header Fields Too Large", "The request is too large.")
            default: ("Bad Request", "This is not the answer to a login that is waiting here.")
            }
        let body = """
            <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>tokenagent</title><p>\(text)</p></html>

            """
        return [
            "HTTP/1.1 \(status) \(reason)", "Content-Type: text/html; charset=utf-8",
            "Content-Length: \(body.utf8.count)", "Content-Security-Policy: default-src 'none'",
            "Referrer-Policy: no-referrer", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
            "Connection: close", "", body,
        ].joined(separator: "\r\n")
    }
}
