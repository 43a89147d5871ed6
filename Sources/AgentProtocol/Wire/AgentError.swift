// SPDX-License-Identifier: MIT

import Text

/// Why the agent did not do what was asked, or could not be asked.
///
/// ``code`` decides what a program does about it; ``message`` and ``remedy`` are for the person.
public struct AgentError: Error, Equatable, Sendable {
    /// The kind of failure; `noAgent` when no agent answers at the socket.
    public var code: FailureCode
    /// One sentence without a full stop.
    public var message: String
    /// The session it is about, if it is about one.
    public var session: String?
    /// What to do about it, usually a command such as `tokenctl login work`.
    public var remedy: String?
    /// How long to wait before asking again, if the agent knows.
    public var retryAfter: Duration?

    /// Describes a failure.
    public init(
        _ code: FailureCode,
        _ message: String,
        session: String? = nil,
        remedy: String? = nil,
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
    /// The message, followed by the remedy if there is one that the message does not name.
    public var description: String {
        let clause = clause
        guard let remedy, !clause.bytewise.contains(remedy.bytewise) else { return clause }
        let isCommand = remedy.bytewise.hasPrefix("tokenctl ".bytewise) || remedy.bytewise == "tokenagent"
        return clause + (isCommand ? "; run: " : "; ") + remedy
    }

    /// The remedy, or what is usually done about a failure of this code; nil where that depends.
    package var suggestedRemedy: String? {
        if let remedy { return remedy }
        return switch code {
        case .loginRequired: session.map { "tokenctl login \($0)" }
        case .locked: "tokenctl unlock"
        case .notFound: session == nil ? nil : "tokenctl list"
        case .temporarilyUnavailable:
            retryAfter.map { "try again in \(DurationPhrase.short($0.components.seconds))" }
        case .internal, .badRequest, .misconfigured, .noAgent, .denied: nil
        }
    }

    /// The message without its full stop, which the agent's answers have.
    package var clause: String {
        let text = message.utf8
        let dots = text.reversed().prefix { $0 == UInt8(ascii: ".") }.count
        return dots == 1 ? String(Substring(text.dropLast())) : message
    }
}

extension AgentError {
    /// Reads the failure from an answer whose status is not a success.
    ///
    /// An answer without the agent's error JSON keeps the meaning of its status.
    package init(_ response: AgentResponse) {
        let error = RefusalMessage(parsing: response.body)?.error ?? FailureMessage()
        self.init(
            error.code ?? FailureCode(httpStatus: response.status),
            error.message ?? "the agent answered with status \(response.status)",
            session: error.session,
            remedy: error.remedy,
            retryAfter: error.retryAfter.flatMap(Self.wait) ?? response.retryAfter
        )
    }

    /// The failure that ended something in a stream.
    package init(_ error: FailureMessage) {
        self.init(
            error.code ?? .internal,
            error.message ?? "the agent gave no reason",
            session: error.session,
            remedy: error.remedy,
            retryAfter: error.retryAfter.flatMap(Self.wait)
        )
    }

    /// The duration of a sane number of seconds; nil for any other number.
    private static func wait(_ seconds: Int64) -> Duration? {
        (0..<1_000_000_000).contains(seconds) ? .seconds(seconds) : nil
    }
}

extension FailureCode {
    /// The code that an answer without error JSON stands for.
    fileprivate init(httpStatus: Int) {
        self = FailureCode.allCases.first { $0.httpStatus == httpStatus } ?? .internal
    }
}
