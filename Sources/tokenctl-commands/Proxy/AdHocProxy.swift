// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// A proxy that stands in no table: `tokenctl proxy NAME --upstream URL`.
struct AdHocProxy {
    /// The keys of a `[[proxy]]`, in TOML.
    let keys: String
    let session: String
    let upstream: String

    /// What the agent says of the session, or the configuration where it may be hidden from this program alone.
    ///
    /// - Throws: the agent's own ``AgentError`` if neither knows such a session.
    func session(at endpoint: AgentEndpoint) throws(AgentError) -> SessionMessage {
        do throws(AgentError) {
            return try endpoint.message(AgentRequest(.get, "sessions", session))
        } catch {
            // Its rules may show it to the proxy.
            if error.code == .notFound, let known = configured(at: endpoint) { return known }
            throw error.about(session)
        }
    }

    /// What this user's configuration says of the session, if it is this user's own agent that answers.
    private func configured(at endpoint: AgentEndpoint) -> SessionMessage? {
        // Where it is only forwarded to, or at a `[[socket]]`, the agent does not tell its process.
        let agent: AgentMessage? = try? endpoint.message(AgentRequest(.get))
        guard agent?.pid != nil else { return nil }
        return (try? ConfigurationReport(about: session))?.message.session?.settings
    }

    /// Checks that the tokens of the session, of which `known` is known, can be added to requests to that server.
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
        // Those say nothing of the path.
        if self.hasHostsOfResource == true { return false }
        let hosts = SessionChoice.rules(self)
        return hosts.isEmpty ? self.resource == nil : SessionChoice.closest(hosts, to: server.place) != nil
    }
}
