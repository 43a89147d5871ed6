// SPDX-License-Identifier: MIT

/// One request, read to its end and accepted by every guard.
struct HTTPRequest: Equatable, Sendable {
    /// The methods some route knows; anything else is answered 405.
    enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case delete = "DELETE"
        case other = ""
    }

    /// The parts of the head that matter after parsing.
    var head: HTTPRequestHead
    var body: [UInt8] = []

    var method: Method { head.method }
}

/// The request line and the few fields the agent acts on.
struct HTTPRequestHead: Equatable, Sendable {
    var method: HTTPRequest.Method
    var address: RequestAddress
    /// Whether it is HTTP/1.1 rather than 1.0.
    var isHTTP11: Bool
    /// Whether the peer wants to send more requests on this connection.
    var keepsAlive: Bool
    /// Body bytes to come, 0…65,536.
    var contentLength = 0
    /// Whether the peer waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    var expectsContinue = false
    /// Whether the peer prefers `text/plain` to JSON.
    var prefersPlainText = false
}
