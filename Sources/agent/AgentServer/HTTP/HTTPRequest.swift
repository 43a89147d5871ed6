// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A complete request that has passed all checks of the parser.
struct HTTPRequest: Equatable, Sendable {
    /// The methods of the agent's routes; other methods get status 405.
    enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case delete = "DELETE"
        case other = ""
    }

    /// The parsed parts of the head.
    var head: HTTPRequestHead
    var body: [UInt8] = []

    var method: Method { head.method }

    /// Returns a request for the bare token of `session`, on behalf of a peer that sends no request.
    static func bareToken(of session: SessionName) -> HTTPRequest {
        HTTPRequest(
            head: HTTPRequestHead(
                method: .get,
                address: ParsedRequestTarget("/v1/sessions/\(session)/token"),
                isHTTP11: true,
                keepsAlive: false,
                contentLength: 0,
                expectsContinue: false,
                prefersPlainText: true
            )
        )
    }
}

/// The request line and the header fields that the agent uses; shared by requests that repeat the same bytes.
final class HTTPRequestHead: Equatable, Sendable {
    let method: HTTPRequest.Method
    let address: ParsedRequestTarget
    /// Whether the version is HTTP/1.1 rather than 1.0.
    let isHTTP11: Bool
    /// Whether the connection stays open for more requests.
    let keepsAlive: Bool
    /// The length of the body in bytes, 0…65,536.
    let contentLength: Int
    /// Whether the peer waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    let expectsContinue: Bool
    /// Whether the peer prefers `text/plain` to JSON.
    let prefersPlainText: Bool
    /// The listener that the peer claims to act for: its name and the digest of its table.
    let listener: String?
    /// The program that started the peer, according to the peer itself.
    let claimedCaller: String?

    init(
        method: HTTPRequest.Method,
        address: ParsedRequestTarget,
        isHTTP11: Bool,
        keepsAlive: Bool,
        contentLength: Int,
        expectsContinue: Bool,
        prefersPlainText: Bool,
        listener: String? = nil,
        claimedCaller: String? = nil
    ) {
        self.method = method
        self.address = address
        self.isHTTP11 = isHTTP11
        self.keepsAlive = keepsAlive
        self.contentLength = contentLength
        self.expectsContinue = expectsContinue
        self.prefersPlainText = prefersPlainText
        self.listener = listener
        self.claimedCaller = claimedCaller
    }

    static func == (left: HTTPRequestHead, right: HTTPRequestHead) -> Bool {
        left.method == right.method && left.address == right.address && left.isHTTP11 == right.isHTTP11
            && left.keepsAlive == right.keepsAlive && left.contentLength == right.contentLength
            && left.expectsContinue == right.expectsContinue
            && left.prefersPlainText == right.prefersPlainText
            && left.listener?.bytewise == right.listener?.bytewise
            && left.claimedCaller?.bytewise == right.claimedCaller?.bytewise
    }
}
