// SPDX-License-Identifier: MIT

import Text

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
    ///   - host: the only `Host` we answer to, against DNS rebinding.
    init(_ bytes: some Collection<UInt8>, host: String) {
        guard let head = CallbackRequest.head(of: Array(bytes.prefix(CallbackRequest.headLimit + 4))) else {
            self = bytes.count >= CallbackRequest.headLimit ? .refused(status: 431) : .incomplete
            return
        }
        self = CallbackRequest.read(Array(HTTPSyntax.lines(head)), host: host)
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

    private static func read(_ lines: [ArraySlice<UInt8>], host: String) -> CallbackRequest {
        let fields = lines.dropFirst().map(HTTPSyntax.field)
        guard let request = HTTPSyntax.requestLine(lines[0]),
            request.isVersion("HTTP/1.1") || request.isVersion("HTTP/1.0"),
            !fields.contains(where: { $0 == nil })
        else { return .refused(status: 400) }
        let hosts = fields.compactMap(\.self).filter { $0.name.says("host") }.map(\.value)
        guard hosts.count == 1, hosts[0].elementsEqual(host.utf8) else { return .refused(status: 400) }
        guard request.method.elementsEqual("GET".utf8) else { return .refused(status: 405) }
        let parts = request.target.split(
            separator: UInt8(ascii: "?"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts[0].elementsEqual(path.utf8) else { return .refused(status: 404) }
        guard parts.count == 2 else { return .refused(status: 400) }
        return .callback(String(decoding: parts[1], as: UTF8.self))
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
