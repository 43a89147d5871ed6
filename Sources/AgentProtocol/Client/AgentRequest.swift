// SPDX-License-Identifier: MIT

import Glibc

/// One request to the agent: HTTP/1.1 over the Unix socket, every path under `/v1`.
public struct AgentRequest: Equatable, Sendable {
    /// The verbs the agent knows.
    public enum Method: String, Sendable {
        /// Reads.
        case get = "GET"
        /// Acts.
        case post = "POST"
        /// Takes away.
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
            target.appendPercentEncoded(segment)
        }
        for (index, parameter) in query.enumerated() {
            target += index == 0 ? "?" : "&"
            target.appendPercentEncoded(parameter.name)
            target += "="
            target.appendPercentEncoded(parameter.value)
        }
    }

    /// Overwrites the body once it was sent, for a body with a secret in it.
    ///
    /// Wipes the only copy if nobody else holds the array.
    public mutating func wipeBody() {
        unsafe body?.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(start, bytes.count)
        }
        body = nil
    }

    /// Request line and headers, up to and with the empty line.
    var head: String {
        var text = method.rawValue + " " + target + " HTTP/1.1\r\nHost: tokenagent\r\n"
        text += wantsPlainText ? "Accept: text/plain\r\n" : "Accept: application/json\r\n"
        if let body {
            text += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        } else if method == .post {
            text += "Content-Length: 0\r\n"
        }
        return text + "\r\n"
    }
}

extension String {
    /// Appends `text` with everything but unreserved characters encoded (RFC 3986 §2.3).
    fileprivate mutating func appendPercentEncoded(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                unicodeScalars.append(Unicode.Scalar(byte))
            default:
                append("%")
                unicodeScalars.append(hexDigit(byte >> 4))
                unicodeScalars.append(hexDigit(byte & 15))
            }
        }
    }
}

private func hexDigit(_ value: UInt8) -> Unicode.Scalar {
    Unicode.Scalar(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10)
}
