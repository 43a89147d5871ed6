// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The active configuration: who may see which session, and what is wrong with the latest one.
///
/// - Entry points: ``current``, ``isShown(_:to:)``, ``explained(_:to:)``.
/// - May not: read files; ``ConfigurationReloads`` replaces the configuration.
///
/// Confined to the agent's event loop.
final class LiveConfiguration {
    /// The maximum number of session names in an error, so that its message stays readable.
    private static let maximumNames = 8

    private(set) var current: AgentConfiguration {
        didSet {
            rules = AllowRuleSummary(current)
            derived = DerivedSessions(current)
        }
    }
    private(set) var rules: AllowRuleSummary
    private(set) var derived: DerivedSessions
    /// The action of ``follow(_:unopened:)``, called with each configuration once it is active.
    private var follower: @Sendable (AgentConfiguration) -> Void = { _ in }
    private var lookForUnopened: @Sendable () -> [SocketOpenFailure] = { [] }
    /// The times at which the agent checks its configuration by itself.
    private var watch = ConfigurationCheckThrottle()

    init(_ configuration: AgentConfiguration) {
        current = configuration
        rules = AllowRuleSummary(configuration)
        derived = DerivedSessions(configuration)
    }

    /// The settings of a session, or `nil` if the session does not exist.
    subscript(name: SessionName) -> SessionSettings? { current.sessions[name] }

    /// Calls `action` on the event loop with the active configuration now, and with each later one.
    ///
    /// `unopened` returns the sockets that cannot be opened at present.
    func follow(
        _ action: @escaping @Sendable (AgentConfiguration) -> Void,
        unopened: @escaping @Sendable () -> [SocketOpenFailure]
    ) {
        follower = action
        lookForUnopened = unopened
        action(current)
    }

    /// The sockets that cannot be opened at present.
    var unopened: [SocketOpenFailure] { lookForUnopened() }

    /// Makes `configuration` the active one.
    func activate(_ configuration: AgentConfiguration) {
        current = configuration
        follower(configuration)
    }

    /// Records the result of reading the latest configuration: its error, or `nil` if it had none.
    func latestRead(_ mistake: String?) {
        watch.read(mistake)
    }

    /// Returns whether to check the configuration file: before a login, and before a session is reported as
    /// unknown.
    ///
    /// `true` counts as a check. Hidden and unknown names are treated alike, and only the agent's own user at
    /// its own socket causes a check. `isKept` says whether the agent has the session that the request's path
    /// names.
    func shouldCheckForChanges(
        _ request: HTTPRequest,
        isKept: Bool,
        for connection: Connection,
        at now: @autoclosure () -> Instant
    ) -> Bool {
        guard connection.caller.isOwnUserAtOwnSocket, let route = request.head.address.route else {
            return false
        }
        let isLogin = route.endpoint == .login
        let isAbsent =
            route.named(request.head.address.query).map { name in
                isKept ? !isShown(name, to: connection) : !isConfigured(name, for: connection)
            } ?? false
        return (isLogin || isAbsent) && watch.begins(at: now())
    }

    /// Returns `failure` with its probable cause, if it is about an unknown session.
    ///
    /// The cause is an error of the latest configuration or, without one, the message lists the sessions that
    /// this peer may see.
    func explained(_ failure: RequestFailure, to connection: Connection) -> RequestFailure {
        guard failure.code == .notFound, let name = failure.session.flatMap({ SessionName($0) }),
            !isConfigured(name, for: connection)
        else { return failure }
        var failure = failure
        if let words = mistake(for: connection) ?? mistake(about: name, for: connection) {
            failure.message += ": " + words
            failure.remedy = .run("tokenctl config check")
            return failure
        }
        let names = current.sessions.keys.filter { isShown($0, to: connection) }
        guard !names.isEmpty else { return failure }
        if names.count <= Self.maximumNames {
            failure.message += " (configured: \(names.sorted().map(\.description).joined(separator: ", ")))"
        }
        // A restricted socket cannot create sessions. With many sessions, the name may be a misspelling.
        if names.count > Self.maximumNames || connection.caller.isRestricted {
            failure.remedy = .run("tokenctl list")
        }
        if let near = WordSuggestion.nearest(to: name.description, among: names.map(\.description)) {
            failure.remedy = .set("the session's name to \(near)")
        }
        return failure
    }

    /// Returns the error of the latest configuration for this peer, or `nil` if the peer may not see one.
    func mistake(for connection: Connection) -> String? {
        guard let mistake = watch.mistake, connection.caller.isOwnUserAtOwnSocket else { return nil }
        let words = "the new configuration has an error, so the previous one stays active"
        // The error may name sessions that this peer may not see.
        return rules.exist ? words : words + ": " + mistake
    }

    /// Returns the configuration error that explains why the session `name` is missing, or `nil` if there is
    /// none or this peer may not see errors.
    private func mistake(about name: SessionName, for connection: Connection) -> String? {
        let found =
            current.mistakes.first { $0.session == name } ?? current.mistakes.first { $0.session == nil }
        guard let found, connection.caller.isOwnUserAtOwnSocket else { return nil }
        let words = "a configuration file has an error and was skipped"
        return rules.exist ? words : words + ": " + found.line
    }

    /// Returns whether this peer may see an error of the configuration.
    ///
    /// For an excluded session it is unknown which peers may see it, so its error is shown only if no rules
    /// exist.
    func isShown(_ mistake: SessionConfigurationError, to connection: Connection) -> Bool {
        guard let name = mistake.session else { return true }
        return self[name] == nil ? !rules.exist : isShown(name, to: connection)
    }
}
