// SPDX-License-Identifier: MIT

import Glibc
import Text

/// A request to the agent: HTTP/1.1 over the Unix socket, with a path under `/v1`.
public struct AgentRequest: Equatable, Sendable {
    /// The HTTP methods that the agent accepts.
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    /// The HTTP method.
    public var method: Method
    /// The path and query, percent-encoded, as in the request line.
    public var target: String
    /// Whether the bare text is requested instead of JSON, where an endpoint offers both.
    public var wantsPlainText: Bool
    /// The JSON body in UTF-8, or `nil` for a request without a body.
    public var body: [UInt8]?
    /// The listener that sends the request, as its name and the digest of its table, separated by a space.
    package var listener: String?

    /// Creates a request for the path `/v1/SEGMENT/SEGMENT…?NAME=VALUE&…`.
    ///
    /// - Parameters:
    ///   - method: The HTTP method.
    ///   - path: The segments after `/v1`, not encoded.
    ///   - query: The parameters in their order, not encoded.
    ///   - wantsPlainText: Whether text is requested instead of JSON.
    ///   - body: The JSON body in UTF-8.
    public init(
        _ method: Method,
        _ path: String...,
        query: [(name: String, value: String)] = [],
        wantsPlainText: Bool = false,
        body: [UInt8]? = nil
    ) {
        self.method = method
        self.wantsPlainText = wantsPlainText
        self.body = body
        target = "/v1"
        for segment in path {
            target += "/"
            target += PercentCoding.encoded(segment)
        }
        for (index, parameter) in query.enumerated() {
            target += index == 0 ? "?" : "&"
            target += PercentCoding.encoded(parameter.name)
            target += "="
            target += PercentCoding.encoded(parameter.value)
        }
    }

    /// Overwrites and removes the body.
    ///
    /// Call it once a body with a secret was sent.
    ///
    /// The secret is erased only if no other copy of the array exists.
    public mutating func wipeBody() {
        body?.wipe()
        body = nil
    }

    /// The request line and headers, including the empty line.
    package var head: String {
        var text = method.rawValue + " " + target + " HTTP/1.1\r\nHost: tokenagent\r\n"
        text += wantsPlainText ? "Accept: text/plain\r\n" : "Accept: application/json\r\n"
        if let listener { text += "Tokenagent-Listener: \(listener)\r\n" }
        if let caller = ClaimedCaller.path {
            text += "Tokenagent-Caller: \(PercentCoding.encoded(caller))\r\n"
        }
        if let body {
            text += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        } else if method == .post {
            text += "Content-Length: 0\r\n"
        }
        return text + "\r\n"
    }
}
