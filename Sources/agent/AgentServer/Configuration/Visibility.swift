// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The visibility of sessions at restricted sockets and by the rules of sessions.
extension LiveConfiguration {
    /// Returns the configured `[[socket]]`, or `nil` if it is no longer configured or the restriction is
    /// another one.
    private func socket(of restriction: ConnectionRestriction) -> RestrictedSocket? {
        guard case .socket(let path) = restriction else { return nil }
        return current.sockets.first { $0.path == path }
    }

    /// Returns the sessions that `restriction` permits, or `nil` if its `[[socket]]` is no longer configured.
    func sessions(of restriction: ConnectionRestriction) -> Set<SessionName>? {
        if case .forwarding(let forwarding) = restriction { return forwarding.sessions }
        return socket(of: restriction)?.sessions
    }

    /// Returns whether the peer's connection is for `name`.
    ///
    /// Works while the agent is locked, too.
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

    /// Returns whether `name` is configured and visible to the peer.
    ///
    /// Works while no session is loaded, too.
    func isConfigured(_ name: SessionName, for connection: Connection) -> Bool {
        current.sessions.keys.contains(name) && isShown(name, to: connection)
    }

    /// Returns the names of the configured sessions that are visible to a peer.
    func shownNames(to connection: Connection) -> Set<SessionName> {
        Set(current.sessions.keys.filter { isShown($0, to: connection) })
    }

    func admission(of connection: Connection, to name: SessionName) -> PeerAdmission {
        guard rules.exist, let settings = self[name] else { return .allowed }
        return settings.admission(of: connection.caller.witness.described)
    }

    /// Returns whether the user must confirm requests of `connection` about `name`.
    func needsConfirmation(_ name: SessionName, for connection: Connection) -> Bool {
        rules.exist && admission(of: connection, to: name) == .askingFirst
    }

    /// Returns the listener that `claim` names, or `nil` unless the claimed configuration is the active one.
    func listener(claimed claim: String?) -> String? {
        guard let parts = claim?.bytewise.split(on: " "), parts.count == 2,
            let digest = current.listeners[parts[0].bytewise], digest.bytewise == parts[1].bytewise
        else { return nil }
        return String(parts[0])
    }

    /// Returns whether the response depends on the peer's identity.
    func mustIdentify(for route: Route) -> Bool {
        guard rules.exist else { return false }
        guard let name = route.session else { return route.traits.showsSessions }
        // An unknown name is treated like a hidden one.
        guard self[name]?.isOpen == true else { return true }
        // Messages about the session may name its sources.
        return current.sources(of: name).contains { self[$0]?.isOpen != true }
    }

    /// Checks the scopes, audience or role of a request for something other than the plain token.
    ///
    /// A `[[socket]]` permits only those that its configuration names, and a forwarded connection permits
    /// none. A role is accepted only at the endpoint that serves the credentials of roles.
    ///
    /// - Throws: ``RequestFailure`` if the variant is not permitted.
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

    /// Returns whether `call` is still permitted, according to the peer's current identity.
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

extension RequestFailure {
    fileprivate static func notGivenOut(
        _ wanted: String,
        called name: String,
        key: String,
        at restriction: ConnectionRestriction,
        of session: SessionName
    ) -> RequestFailure {
        let shown = ServerText.cleaned(wanted)
        let remedy: Remedy =
            switch restriction {
            case .socket: .set("\(shown) in \(key) of this [[socket]], then run tokenctl reload")
            case .forwarding: .retry("over ssh -R to a [[socket]] that lists \(shown) in \(key)")
            }
        return RequestFailure(
            code: .denied,
            message: "this socket does not provide tokens of \(name) \"\(shown)\"",
            session: session,
            remedy: remedy
        )
    }
}
