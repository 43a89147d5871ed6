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
        case .malformed: "This is not a well-formed HTTP/1.1 request."
        case .lineTooLong: "The request line is longer than 4096 bytes."
        case .headersTooLong: "The header fields are longer than 8192 bytes."
        case .bodyTooLong: "The body is longer than 65536 bytes."
        case .tooSlow: "The request was not complete within 5 seconds."
        case .wrongHost: "Host must be given once, as tokenagent or localhost."
        case .fromBrowser: "Requests from web pages are refused."
        case .chunkedBody: "Send the body with Content-Length; chunked requests are not accepted."
        case .unknownExpectation: "The only expectation understood is 100-continue."
        case .unsupportedVersion: "Only HTTP/1.1 and HTTP/1.0 are spoken here."
        }
    }
}
