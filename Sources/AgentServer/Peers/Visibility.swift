// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Who may see what: restricted sockets, and the rules of sessions.
extension LiveConfiguration {
    /// The `[[socket]]` as it is configured now; `nil` if it is no longer configured, or it is none.
    private func socket(of restriction: Restriction) -> RestrictedSocket? {
        guard case .socket(let path) = restriction else { return nil }
        return current.sockets.first { $0.path == path }
    }

    /// The sessions that `restriction` leaves; `nil` if its `[[socket]]` is no longer configured.
    func sessions(of restriction: Restriction) -> Set<SessionName>? {
        if case .forwarding(let forwarding) = restriction { return forwarding.sessions }
        return socket(of: restriction)?.sessions
    }

    /// Whether the peer's connection is for `name`; known also while the agent is locked.
    func isListed(_ name: SessionName, at connection: Connection) -> Bool {
        guard let restriction = connection.caller.restriction else { return true }
        return sessions(of: restriction)?.contains(name) ?? true
    }

    func isShown(_ name: SessionName, to connection: Connection) -> Bool {
        if let restriction = connection.caller.restriction {
            guard sessions(of: restriction)?.contains(name) == true else { return false }
        }
        return admission(of: connection, to: name) != .hidden
    }

    /// Whether the peer may know of a configured session `name`; known also while no session is loaded.
    func isConfigured(_ name: SessionName, for connection: Connection) -> Bool {
        current.sessions.keys.contains(name) && isShown(name, to: connection)
    }

    /// The names of the configured sessions that a peer may know of.
    func shownNames(to connection: Connection) -> Set<SessionName> {
        Set(current.sessions.keys.filter { isShown($0, to: connection) })
    }

    func admission(of connection: Connection, to name: SessionName) -> PeerAdmission {
        guard rules.exist, let settings = self[name] else { return .allowed }
        return settings.admission(of: connection.caller.witness.described)
    }

    /// Whether a person is to be asked before `connection` gets something of `name`.
    func needsConfirmation(_ name: SessionName, for connection: Connection) -> Bool {
        rules.exist && admission(of: connection, to: name) == .askingFirst
    }

    /// The name of the listener for which `claim` says that a request is; `nil` unless its table is in force as it is.
    func listener(claimed claim: String?) -> String? {
        guard let parts = claim?.bytewise.split(on: " "), parts.count == 2,
            let digest = current.listeners[parts[0].bytewise], digest.bytewise == parts[1].bytewise
        else { return nil }
        return String(parts[0])
    }

    /// Whether the answer depends on who asks.
    func mustIdentify(for route: Route) -> Bool {
        guard rules.exist else { return false }
        guard let name = route.session else { return route.traits.showsSessions }
        // An unknown name is treated like a hidden one.
        guard self[name]?.isOpen == true else { return true }
        // What is told about it may name those.
        return current.sources(of: name).contains { self[$0]?.isOpen != true }
    }

    /// Checks what is asked for beside the plain token.
    ///
    /// At a `[[socket]]` that is only what its table names, from another host nothing; roles only where their
    /// credentials are handed out.
    func checkVariant(_ variant: TokenVariant, _ call: PendingTokenRequest) throws(RequestFailure) {
        if variant != .primary, call.format != .role, self[call.session]?.policy.roles == .variants {
            throw .unnamedRole(of: call.session)
        }
        guard variant != .primary, let restriction = call.connection.caller.restriction else { return }
        let socket = socket(of: restriction)
        if let scope = variant.scopes.first(where: { socket?.scopes.contains($0.bytewise) != true }) {
            throw .notGivenOut(scope, called: "scope", key: "scopes", at: restriction, of: call.session)
        }
        if let audience = variant.audience, socket?.audiences.contains(audience.bytewise) != true {
            throw .notGivenOut(
                audience,
                called: "audience",
                key: "audiences",
                at: restriction,
                of: call.session
            )
        }
    }

    /// Whether what was allowed when `call` was made is still allowed, by what is known of the peer now.
    func isStillAdmitted(_ call: PendingTokenRequest) -> Bool {
        guard isShown(call.session, to: call.connection) else { return false }
        guard admission(of: call.connection, to: call.session) == .askingFirst else { return true }
        guard case .given(let asked) = call.consent else { return false }
        guard let asked, let facts = call.connection.caller.witness.facts else {
            return asked == nil && call.connection.caller.witness.facts == nil
        }
        return asked.isSameProgram(as: facts)
    }
}

/// What every request needs to know of the rules in force.
struct ActiveRules {
    /// Whether any session has rules.
    let exist: Bool
    /// Paths of the programs whose digests rules name.
    let digested: Set<String>

    init(_ configuration: AgentConfiguration) {
        let rules = configuration.sessions.values.lazy.map(\.rules)
        exist = rules.contains { !$0.isEmpty }
        digested = Set(rules.joined().filter { $0.digest != nil }.compactMap(\.executable))
    }
}

extension RequestFailure {
    fileprivate static func notGivenOut(
        _ wanted: String,
        called name: String,
        key: String,
        at restriction: Restriction,
        of session: SessionName
    ) -> RequestFailure {
        let shown = ServerText.cleaned(wanted)
        let remedy =
            switch restriction {
            case .socket:
                "add it to \(key) of this [[socket]] in the agent's configuration, then tokenctl reload"
            case .forwarding: "forward a [[socket]] that names it in \(key), with ssh -R"
            }
        return RequestFailure(
            code: .denied,
            message: "This socket gives out no tokens of the \(name) \"\(shown)\".",
            session: session,
            remedy: remedy
        )
    }
}
