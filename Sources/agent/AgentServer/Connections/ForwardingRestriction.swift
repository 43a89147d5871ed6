// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The restriction that a peer puts on its connection before another host uses it, as `tokenctl ssh` does.
///
/// From then on the connection is treated like one at a `[[socket]]` for these sessions, until it closes.
struct ForwardingRestriction: Equatable, Sendable {
    /// The maximum length of a host in bytes: a DNS name with a user and a port.
    private static let maximumHostLength = 320
    /// The maximum number of sessions of one connection: more than anybody types.
    private static let maximumSessions = 256

    /// The peer's name for the host, in visible ASCII.
    let host: String
    let sessions: Set<SessionName>

    /// Serves `POST /v1/restrict`.
    static func serve(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let forwarding = try ForwardingRestriction(request)
        connection.restrict(to: forwarding)
        let names = forwarding.sessions.sorted().map(\.description)
        connection.answer(
            .message(
                RestrictMessage {
                    $0.sessions = names
                    $0.host = forwarding.host
                }
            )
        )
    }

    private init(_ request: HTTPRequest) throws(RequestFailure) {
        let body = try ParsedRequestBody(request.body, RestrictMembers.self)
        host = try body.required(\.host)
        guard (1...Self.maximumHostLength).contains(host.utf8.count), host.utf8.allSatisfy(\.isVisibleASCII)
        else {
            throw RequestFailure(
                code: .badRequest,
                message: "host must be 1 to \(Self.maximumHostLength) characters of visible ASCII"
            )
        }
        let words = try body.required(\.sessions)
        guard (1...Self.maximumSessions).contains(words.count) else {
            throw RequestFailure(
                code: .badRequest,
                message: "sessions must contain 1 to \(Self.maximumSessions) names"
            )
        }
        var names: Set<SessionName> = []
        for word in words { names.insert(try SessionName(asked: word)) }
        sessions = names
    }
}
