// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// A proxy that stands in no table: `tokenctl proxy NAME --upstream URL`.
struct ProxyWish {
    /// The keys of a `[[proxy]]`, in TOML.
    let keys: String
    let session: String
    let upstream: String

    /// What the agent says of the session.
    ///
    /// - Throws: the agent's own ``AgentError`` if it knows no such session.
    func session(at endpoint: AgentEndpoint) throws(AgentError) -> SessionMessage {
        do throws(AgentError) {
            return try endpoint.message(AgentRequest(.get, "sessions", session))
        } catch {
            throw error.about(session)
        }
    }

    /// Checks that the tokens of the session, of which the agent says `known`, can be added to requests to that server.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    func check(_ known: SessionMessage) throws(AgentError) {
        // A restricted socket does not tell the kind; the agent refuses each request there.
        if let kind = known.kind, ["aws_role", "aws_sso"].contains(kind) {
            throw AgentError(
                .misconfigured,
                "it has the credentials of a role and no token",
                session: session,
                remedy: "serve them by an [[endpoint]] of kind aws-container, see tokenagent.conf(5)"
            )
        }
        guard let server = ServerAddress(url: upstream), !known.serves(upstream, at: server) else { return }
        throw AgentError(
            .misconfigured,
            "its tokens are not for \(upstream)",
            session: session,
            remedy: "add \(server.place.text) to its hosts, if they are"
        )
    }
}

extension SessionMessage {
    /// Whether its tokens may go to `url`, an address of `server`: among its hosts, or below its resource, if it has them.
    fileprivate func serves(_ url: String, at server: ServerAddress) -> Bool {
        let own = self.resource.flatMap { ResourceAddress($0) }
        if let own, let address = ResourceAddress(url), own.covers(address) { return true }
        let hosts = SessionChoice.rules(self)
        // Where no hosts are written that of the resource stands there, without its path.
        if hosts.count == 1, hosts[0].names(own?.server.place) { return false }
        return hosts.isEmpty ? self.resource == nil : SessionChoice.closest(hosts, to: server.place) != nil
    }
}

extension HostRule {
    /// Whether it is for `place` and no other server.
    fileprivate func names(_ place: HostName?) -> Bool {
        place.map { !coversSubdomains && user == nil && closeness(to: $0) != nil } ?? false
    }
}
