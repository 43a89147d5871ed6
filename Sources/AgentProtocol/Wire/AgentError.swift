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
    /// The message, followed by the remedy if there is one.
    public var description: String { remedy.map { "\(message); \($0)" } ?? message }
}

extension AgentError {
    /// Reads the failure out of an answer whose status is not a success.
    ///
    /// An answer without the agent's error JSON keeps the meaning of its status.
    init(_ response: AgentResponse) {
        let error = try? JSONValue(parsing: response.body).object?["error"]?.object
        let text = error?["code"]?.string
        self.init(
            text.flatMap(FailureCode.init(rawValue:)) ?? FailureCode(httpStatus: response.status),
            error?["message"]?.string ?? "the agent answered with status \(response.status)",
            session: error?["session"]?.string,
            remedy: error?["remedy"]?.string,
            retryAfter: error?["retry_after"]?.seconds ?? response.retryAfter
        )
    }

    /// Reads the failure out of the `error` member of a progress line.
    package init(json: JSONObject) {
        self.init(
            json["code"]?.string.flatMap(FailureCode.init(rawValue:)) ?? .internal,
            json["message"]?.string ?? "the agent gave no reason",
            session: json["session"]?.string,
            remedy: json["remedy"]?.string,
            retryAfter: json["retry_after"]?.seconds
        )
    }
}

extension FailureCode {
    /// The code an answer without error JSON stands for.
    fileprivate init(httpStatus: Int) {
        self = FailureCode.allCases.first { $0.httpStatus == httpStatus } ?? .internal
    }
}

extension JSONValue {
    /// A number of seconds, if this is a sane one.
    fileprivate var seconds: Duration? {
        guard let value = double, value >= 0, value < 1e9 else { return nil }
        return .seconds(value)
    }
}
