// SPDX-License-Identifier: MIT

import Text

/// An error from the agent, or from connecting to it.
///
/// Programs decide by ``code``. The texts ``message`` and ``remedy`` are for the user.
public struct AgentError: Error, Equatable, Sendable {
    /// The kind of the error, `noAgent` if nothing is listening at the socket.
    public var code: FailureCode
    /// One sentence without a full stop.
    public var message: String
    /// The session that the error is about, or `nil` if it is about none.
    public var session: String?
    /// The advice, usually to run a command such as `tokenctl login work`.
    public var remedy: Remedy?
    /// The delay before a retry, or `nil` if the agent does not know it.
    public var retryAfter: Duration?

    /// Creates an error.
    public init(
        _ code: FailureCode,
        _ message: String,
        session: String? = nil,
        remedy: Remedy? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.session = session
        self.remedy = remedy
        self.retryAfter = retryAfter
    }
}

extension AgentError: CustomStringConvertible {
    /// The message in one line, followed by the remedy in parentheses: `no token (run: tokenctl login work)`.
    public var description: String { remedy.map { "\(clause) \($0.parenthesized)" } ?? clause }

    /// The remedy, or the usual one for the code, or `nil` if that depends.
    package var suggestedRemedy: Remedy? {
        if let remedy { return remedy }
        return switch code {
        case .loginRequired: session.map { .run("tokenctl login \($0)") }
        case .locked: .run("tokenctl unlock")
        case .notFound: session == nil ? nil : .run("tokenctl list")
        case .temporarilyUnavailable:
            retryAfter.map { .retry("in \(DurationPhrase.short($0.components.seconds))") }
        case .internal, .badRequest, .misconfigured, .noAgent, .denied: nil
        }
    }

    /// The message without the full stop that the agent's responses have.
    package var clause: String {
        let text = message.utf8
        let dots = text.reversed().prefix { $0 == UInt8(ascii: ".") }.count
        return dots == 1 ? String(Substring(text.dropLast())) : message
    }
}

extension AgentError {
    /// Parses the error from a response whose status is not a success.
    ///
    /// A response without the agent's error JSON is interpreted by its status.
    package init(_ response: AgentResponse) {
        let error = ErrorResponseMessage(parsing: response.body)?.error ?? FailureMessage()
        self.init(
            error.code ?? FailureCode(httpStatus: response.status),
            error.message ?? "the agent responded with status \(response.status)",
            session: error.session,
            remedy: error.remedy,
            retryAfter: error.retryAfter.flatMap(Self.wait) ?? response.retryAfter
        )
    }

    /// Creates the error that has ended a stream.
    package init(_ error: FailureMessage) {
        self.init(
            error.code ?? .internal,
            error.message ?? "no reason given by the agent",
            session: error.session,
            remedy: error.remedy,
            retryAfter: error.retryAfter.flatMap(Self.wait)
        )
    }

    /// Returns the duration for a plausible number of seconds, or `nil` for any other number.
    private static func wait(_ seconds: Int64) -> Duration? {
        (0..<1_000_000_000).contains(seconds) ? .seconds(seconds) : nil
    }
}

extension FailureCode {
    /// Creates the code for a response without error JSON.
    fileprivate init(httpStatus: Int) {
        self = FailureCode.allCases.first { $0.httpStatus == httpStatus } ?? .internal
    }
}
