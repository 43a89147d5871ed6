// SPDX-License-Identifier: MIT

import AgentProtocol

/// The errors of malformed or forbidden requests; after the response, the connection is closed.
enum RequestError: Error, Equatable, CaseIterable {
    /// The request is not HTTP, or two implementations could read it differently.
    case malformed
    case lineTooLong
    case headersTooLong
    case bodyTooLong
    /// The complete request did not arrive in time.
    case tooSlow
    /// `Host` is missing or repeated, or names something other than this agent.
    case wrongHost
    /// The request comes from a web page: it has `Origin`, `Referer`, or a `Sec-Fetch-Site` other than
    /// `none`.
    case fromBrowser
    case chunkedBody
    case unknownExpectation
    case unsupportedVersion

    var status: HTTPStatus {
        switch self {
        case .malformed, .wrongHost: .badRequest
        case .lineTooLong: .targetTooLong
        case .headersTooLong: .headersTooLong
        case .bodyTooLong: .bodyTooLong
        case .tooSlow: .requestTimeout
        case .fromBrowser: .forbidden
        case .chunkedBody: .lengthRequired
        case .unknownExpectation: .expectationFailed
        case .unsupportedVersion: .unsupportedVersion
        }
    }

    var code: FailureCode {
        self == .fromBrowser ? .denied : .badRequest
    }

    var message: String {
        switch self {
        case .malformed: "malformed HTTP/1.1 request"
        case .lineTooLong: "request line longer than 4096 bytes"
        case .headersTooLong: "header fields longer than 8192 bytes"
        case .bodyTooLong: "body longer than 65536 bytes"
        case .tooSlow: "request not complete within 5 seconds"
        case .wrongHost: "invalid Host: must appear once, as tokenagent or localhost"
        case .fromBrowser: "requests from web pages are denied"
        case .chunkedBody: "chunked requests are not supported: Content-Length required"
        case .unknownExpectation: "unsupported expectation: only 100-continue is supported"
        case .unsupportedVersion: "unsupported HTTP version: only HTTP/1.1 and HTTP/1.0 are supported"
        }
    }
}
