// SPDX-License-Identifier: MIT

/// The kind of an error of the agent or a command, with a word in JSON, an exit status and an HTTP status.
///
/// The words, exit statuses and HTTP statuses are stable, as scripts depend on them.
public enum FailureCode: String, CaseIterable, Sendable {
    /// Any error without a code of its own.
    case `internal`
    /// The agent does not understand the request.
    case badRequest = "bad_request"
    /// The configuration, the client registration or the requested scope must be corrected first.
    case misconfigured
    /// No agent could be reached or started.
    ///
    /// Never sent on the socket.
    case noAgent = "no_agent"
    /// The session has ended, and the user must log in.
    case loginRequired = "login_required"
    /// The authorization server or the network cannot serve now, or the wait was too long.
    case temporarilyUnavailable = "temporarily_unavailable"
    /// The agent is locked.
    case locked
    /// There is no such session or route.
    case notFound = "not_found"
    /// A rule or the user has denied the request.
    case denied

    /// The exit status of the commands.
    public var exitStatus: Int32 {
        switch self {
        case .internal: 1
        case .badRequest, .misconfigured: 2
        case .noAgent: 3
        case .loginRequired: 4
        case .temporarilyUnavailable: 5
        case .locked: 6
        case .notFound: 7
        case .denied: 8
        }
    }

    /// The HTTP status of the response on the socket.
    public var httpStatus: Int {
        switch self {
        case .internal, .noAgent: 500
        case .badRequest, .misconfigured: 400
        case .loginRequired: 401
        case .temporarilyUnavailable: 503
        case .locked: 423
        case .notFound: 404
        case .denied: 403
        }
    }
}
