// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// A proxy without a table in the configuration: `tokenctl proxy NAME --upstream URL`.
struct AdHocProxy {
    /// The keys of the `[[proxy]]` table, in TOML.
    let keys: String
    let session: String
    let upstream: String

    /// Returns the session from the agent, or from the configuration if rules hide it from this program.
    ///
    /// - Throws: ``AgentError`` of the agent if neither has such a session.
    func session(at endpoint: AgentEndpoint) throws(AgentError) -> SessionMessage {
        do throws(AgentError) {
            return try endpoint.message(AgentRequest(.get, "sessions", session))
        } catch {
            // The session's rules may allow the proxy to see it.
            if error.code == .notFound, let known = configured(at: endpoint) { return known }
            throw error.about(session)
        }
    }

    /// Returns the session from the configuration, if the agent is this user's own, or `nil`.
    private func configured(at endpoint: AgentEndpoint) -> SessionMessage? {
        // At a forwarded socket or a `[[socket]]`, the agent does not report its process ID.
        let agent: AgentMessage? = try? endpoint.message(AgentRequest(.get))
        guard agent?.pid != nil else { return nil }
        return (try? ConfigurationReport(about: session))?.message.session?.settings
    }

    /// Checks that the session, known as `known`, has tokens and that they are for the upstream server.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    func check(_ known: SessionMessage) throws(AgentError) {
        // A restricted socket does not report the kind, and the agent denies each request there.
        if let kind = known.kind, ["aws_role", "aws_sso"].contains(kind) {
            throw AgentError(
                .misconfigured,
                "kind \"\(kind)\" has role credentials and no token",
                session: session,
                remedy: .set("an [[endpoint]] with kind = \"aws-container\"")
            )
        }
        guard let server = ServerAddress(url: upstream), !known.serves(upstream, at: server) else { return }
        throw AgentError(
            .misconfigured,
            "tokens of this session are not for \(upstream)",
            session: session,
            remedy: .set("hosts in [session.\(session)] to include \(server.place.text)")
        )
    }
}

extension SessionMessage {
    /// Returns whether the session's tokens may be sent to `url` of `server`: it is in `hosts` or within the
    /// resource, if set.
    fileprivate func serves(_ url: String, at server: ServerAddress) -> Bool {
        let own = self.resource.flatMap { ResourceAddress($0) }
        if let own, let address = ResourceAddress(url), own.covers(address) { return true }
        // Hosts derived from the resource do not include its path.
        if self.hasHostsOfResource == true { return false }
        let hosts = SessionChoice.rules(self)
        return hosts.isEmpty ? self.resource == nil : SessionChoice.closest(hosts, to: server.place) != nil
    }
}
