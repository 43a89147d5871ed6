// SPDX-License-Identifier: MIT

import Glibc
import Text

/// One request to the agent: HTTP/1.1 over the Unix socket, every path under `/v1`.
public struct AgentRequest: Equatable, Sendable {
    /// The verbs the agent knows.
    public enum Method: String, Sendable {
        /// Reads.
        case get = "GET"
        /// Acts.
        case post = "POST"
        /// Removes.
        case delete = "DELETE"
    }

    /// The verb.
    public var method: Method
    /// Path and query, percent-encoded, as it goes on the request line.
    public var target: String
    /// Whether the bare text is wanted instead of JSON, where a route offers both.
    public var wantsPlainText: Bool
    /// The JSON body, UTF-8; nil for a request without one.
    public var body: [UInt8]?
    /// The listener that asks, as the name and the digest of its table with a blank between them.
    package var listener: String?

    /// Describes the request for the path `/v1/SEGMENT/SEGMENT…?NAME=VALUE&…`.
    ///
    /// - Parameters:
    ///   - method: the verb.
    ///   - path: segments after `/v1`, not encoded.
    ///   - query: parameters in their order, not encoded.
    ///   - wantsPlainText: asks for text instead of JSON.
    ///   - body: the JSON body, UTF-8.
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

    /// Overwrites and removes the body; call it once a body with a secret in it has been sent.
    ///
    /// Wipes the only copy if nobody else holds the array.
    public mutating func wipeBody() {
        body?.wipe()
        body = nil
    }

    /// Request line and headers, including the empty line.
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
