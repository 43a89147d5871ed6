// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TokenCore

/// The agent looks by itself whether its configuration has changed: before it says that something does not exist,
/// and before a login.
extension SessionAgent {
    /// Whether the answer to a request waits for a look at the configuration.
    ///
    /// For the agent's own user at its own socket alone, and alike for names that are hidden and that are unknown.
    func owesLook(_ route: Route, _ query: Substring, _ connection: Connection) -> Bool {
        guard phase == .working, connection.restrictedPath == nil, connection.peer.userID == geteuid() else {
            return false
        }
        let isLogin = if case .login = route { true } else { false }
        let isAbsent = named(route, query).map { !isConfigured($0, for: connection) } ?? false
        return (isLogin || isAbsent) && watch.begins(at: ports.timekeeper.now)
    }

    /// Looks, takes over what has changed, then goes on if the peer still waits.
    func look(for connection: Connection, then proceed: @escaping @Sendable (isolated SessionAgent) -> Void) {
        Task {
            if await configurationHasChanged() {
                // What kept it from being taken over is in the log, and in the answers from now on.
                _ = try? await reload(by: AuditRecord.Origin(connection))
            }
            if connection.state == .answering { proceed(self) }
        }
    }

    /// Whether another configuration is there; a file that was only touched is none.
    private func configurationHasChanged() async -> Bool {
        let source = ports.configuration
        return await withCheckedContinuation { continuation in
            onStoreThread { _ in
                guard source.hasChanged() else { return false }
                do throws(RequestFailure) {
                    return try !source.changes().isEmpty
                } catch {
                    // Reading it says what is wrong.
                    return true
                }
            } then: {
                continuation.resume(returning: $1)
            }
        }
    }

    /// The session that a request names, in its path or its query.
    private func named(_ route: Route, _ query: Substring) -> SessionName? {
        if case .events = route { return (try? eventFilter(query)) ?? nil }
        if case .audit = route { return (try? AuditQuery(query))?.session }
        return route.session
    }

    /// The failure with what is wrong with the latest configuration, where that may be why there is no such session.
    func explained(_ failure: RequestFailure, to connection: Connection) -> RequestFailure {
        guard failure.code == .notFound, let name = failure.session.flatMap({ SessionName($0) }),
            !isConfigured(name, for: connection), let words = mistake(for: connection)
        else { return failure }
        var failure = failure
        failure.message += " " + words
        failure.remedy = "tokenctl config check"
        return failure
    }

    /// What is wrong with the latest configuration, for a peer that may know; `nil`: nothing.
    func mistake(for connection: Connection) -> String? {
        guard let mistake = watch.mistake, connection.restrictedPath == nil,
            connection.peer.userID == geteuid()
        else { return nil }
        let words = "The configuration has changed and has a mistake, so the old one stays in force"
        // Its lines may name sessions that this peer is not to know of.
        return rules.exist ? words + "." : words + ": " + mistake
    }
}
