// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// A response of this program rather than of an upstream.
struct LocalResponse: Equatable, Sendable {
    var status: Int
    /// The reason phrase, or `nil` for the standard one of the status.
    var phrase: String?
    var contentType = "application/json"
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    init(_ status: Int, _ contentType: String, _ body: some Sequence<UInt8>) {
        self.status = status
        self.contentType = contentType
        self.body = Array(body)
    }

    static func == (left: LocalResponse, right: LocalResponse) -> Bool {
        left.status == right.status && left.phrase == right.phrase && left.contentType == right.contentType
            && left.body == right.body
            && left.fields.elementsEqual(right.fields) { $0.name == $1.name && $0.value == $1.value }
    }

    /// Serializes head and body.
    ///
    /// - Parameters:
    ///   - withoutBody: whether the response is to a `HEAD` request.
    ///   - keepsAlive: whether the client may send another request.
    /// - Returns: the whole response.
    func bytes(withoutBody: Bool, keepsAlive: Bool) -> ByteBuffer {
        var bytes = ByteBufferAllocator().buffer(capacity: 512 + body.count)
        bytes.writeString("HTTP/1.1 \(status) \(phrase ?? LocalResponse.phrases[status] ?? "Refused")\r\n")
        bytes.write("Server", "tokenagent")
        bytes.write("Content-Type", contentType)
        bytes.write("Content-Length", String(body.count))
        bytes.write("Cache-Control", "no-store")
        for field in fields { bytes.writeString("\(field.name): \(field.value)\r\n") }
        if !keepsAlive { bytes.writeStaticString("Connection: close\r\n") }
        bytes.writeStaticString("\r\n")
        if !withoutBody { bytes.writeBytes(body) }
        return bytes
    }

    private static let phrases = [
        200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 408: "Request Timeout", 413: "Content Too Large",
        417: "Expectation Failed",
        423: "Locked", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
        501: "Not Implemented",
        502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported",
    ]
}

// MARK: Problems (RFC 9457)

extension LocalResponse {
    private static let problemType = "application/problem+json"

    /// Creates the response to a request that is not forwarded.
    init(_ fault: ForwardingError) {
        let problem: JSONValue = [
            "type": "about:blank", "title": .string(LocalResponse.phrases[fault.status] ?? "Refused"),
            "status": .integer(fault.status), "detail": .string(fault.message),
        ]
        self.init(fault.status, LocalResponse.problemType, problem.serialized)
    }

    /// Creates the response for an error of the agent.
    ///
    /// A required login is reported as 403. On a 401, programs prompt the user for a password. wget and apt
    /// show only the reason phrase, and git shows the body only if it is plain text.
    ///
    /// - Parameters:
    ///   - error: the error.
    ///   - isForGit: whether the client is git.
    init(_ error: AgentError, isForGit: Bool = false) {
        let error = error.advised
        let status = error.code == .loginRequired ? 403 : LocalResponse.status(of: error.code)
        if isForGit {
            let remedy = error.remedy.map { "\n\($0.labelled)" } ?? ""
            self.init(status, "text/plain; charset=utf-8", "\(error.message)\(remedy)\n".utf8)
        } else {
            var problem: JSONObject = [
                "type": "about:blank", "title": .string(LocalResponse.phrases[status] ?? "Refused"),
                "status": .integer(status), "detail": .string(error.message),
                "code": .string(error.code.rawValue),
            ]
            if let session = error.session { problem["session"] = .string(session) }
            if let remedy = error.remedy {
                problem["remedy"] = .string(remedy.text)
                problem["remedy_kind"] = .string(remedy.kind.rawValue)
            }
            self.init(status, LocalResponse.problemType, JSONValue.object(problem).serialized)
        }
        self = telling(error)
        phrase = LocalResponse.phrase(error, status)
    }

    /// The maximum length of a reason phrase, in bytes.
    private static let maximumPhrase = 200

    /// Returns a reason phrase that contains the remedy.
    ///
    /// - Returns: `nil` if there is no remedy, or if it does not fit into a status line.
    private static func phrase(_ error: AgentError, _ status: Int) -> String? {
        guard let remedy = error.remedy else { return nil }
        let reason = error.code == .loginRequired ? "Login required" : phrases[status] ?? "Refused"
        let phrase = "\(reason) \(remedy.parenthesized)"
        let isPlain = phrase.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        return isPlain && phrase.utf8.count <= maximumPhrase ? phrase : nil
    }

    /// Returns the response with the fields that its status requires.
    func telling(_ error: AgentError) -> LocalResponse {
        var answer = self
        switch status {
        case 401: answer.fields.append(("WWW-Authenticate", "Tokenagent"))
        case 503:
            let wait = error.advised.retryAfter?.components.seconds ?? 1
            answer.fields.append(("Retry-After", String(wait)))
        default: break
        }
        return answer
    }

    /// Returns the status for an error code of the agent.
    ///
    /// An error of this program's own request is 500, because the client is not at fault.
    static func status(of code: FailureCode) -> Int {
        switch code {
        case .noAgent: 503
        case .badRequest, .misconfigured: 500
        case .internal, .loginRequired, .temporarilyUnavailable, .locked, .notFound, .denied: code.httpStatus
        }
    }
}

extension AgentError {
    /// The error with a remedy and the time after which to retry.
    var advised: AgentError {
        var error = self
        guard LocalResponse.status(of: code) == 503 else {
            error.remedy = suggestedRemedy
            return error
        }
        let wait = max(1, retryAfter?.components.seconds ?? 1)
        error.retryAfter = .seconds(wait)
        error.remedy = error.suggestedRemedy ?? .retry("in \(DurationPhrase.short(wait))")
        return error
    }
}
