// SPDX-License-Identifier: MIT

import AgentProtocol

/// The status codes of the agent's responses (RFC 9110 §15, RFC 4918 §11.3).
enum HTTPStatus: Int, CaseIterable, Sendable {
    case ok = 200
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case requestTimeout = 408
    case lengthRequired = 411
    case bodyTooLong = 413
    case targetTooLong = 414
    case expectationFailed = 417
    case locked = 423
    case headersTooLong = 431
    case internalError = 500
    case unavailable = 503
    case unsupportedVersion = 505

    /// Creates the status for a failure code.
    init(_ code: FailureCode) {
        self = HTTPStatus(rawValue: code.httpStatus) ?? .internalError
    }

    var reason: StaticString {
        switch self {
        case .ok: "OK"
        case .badRequest: "Bad Request"
        case .unauthorized: "Unauthorized"
        case .forbidden: "Forbidden"
        case .notFound: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .requestTimeout: "Request Timeout"
        case .lengthRequired: "Length Required"
        case .bodyTooLong: "Content Too Large"
        case .targetTooLong: "URI Too Long"
        case .expectationFailed: "Expectation Failed"
        case .locked: "Locked"
        case .headersTooLong: "Request Header Fields Too Large"
        case .internalError: "Internal Server Error"
        case .unavailable: "Service Unavailable"
        case .unsupportedVersion: "HTTP Version Not Supported"
        }
    }
}
