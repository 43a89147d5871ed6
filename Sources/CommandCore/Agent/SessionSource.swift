// SPDX-License-Identifier: MIT

import AgentProtocol

/// The session that is for an address, as the agent knows it; blocking.
package struct SessionSource: Sendable {
    /// A token, and the session that it is of.
    package struct ResourceToken: Sendable {
        package var session: String
        package var token: AgentToken
    }

    package let address: ResourceAddress
    package let endpoint: AgentEndpoint

    /// - Throws: ``AgentError`` with the code `badRequest` if nobody could log in for the address, or tokens could be read
    ///   on the way to it.
    package init(_ address: ResourceAddress, _ endpoint: AgentEndpoint) throws(AgentError) {
        try SessionSource.check(address)
        self.address = address
        self.endpoint = endpoint
    }

    /// Checks that somebody could log in for the address, and that nobody could read a token on the way to it.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest`.
    package static func check(_ address: ResourceAddress) throws(AgentError) {
        // It is not shown: it may hold a password.
        guard address.isPlain else {
            throw AgentError(
                .badRequest,
                "the address has a user name, a fragment or characters that are not written in an address",
                remedy: "leave them out, or write them as %XX"
            )
        }
        guard address.server.isPrivate, ["http", "https"].contains(address.server.scheme) else {
            throw AgentError(.badRequest, "a token goes by https only, or by http on this machine")
        }
    }

    /// The name of the session whose resource covers the address most closely.
    ///
    /// - Throws: ``AgentError`` with the code `notFound` if there is none: none is made here, and nobody logged in.
    package func session() throws(AgentError) -> String {
        let answer: SessionsMessage = try endpoint.message(AgentRequest(.get, "sessions"))
        if let name = address.session(among: answer.sessions ?? []) { return name }
        throw AgentError(
            .notFound,
            "no session is for \(address.text)",
            remedy: "tokenctl login \(ShellWord.quoted(address.text))"
        )
    }

    /// A token of the session that the agent knew by `name`, if it still does, else of the one that is found now.
    package func token(
        named name: String?,
        proof: TokenRequest.Proof? = nil
    ) throws(AgentError) -> ResourceToken {
        if let name {
            do throws(AgentError) {
                return ResourceToken(session: name, token: try token(name, proof))
            } catch {
                guard error.code == .notFound else { throw error }
            }
        }
        let name = try session()
        return ResourceToken(session: name, token: try token(name, proof))
    }

    /// A token of the session.
    private func token(_ session: String, _ proof: TokenRequest.Proof?) throws(AgentError) -> AgentToken {
        do {
            return try endpoint.token(demand(session, proof))
        } catch {
            throw error.about(session)
        }
    }

    /// The token to try in place of the refused one; `nil`: another one would not help.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` if the login is over or the server wants more of it.
    package func replacement(
        for refused: AgentToken,
        of session: String,
        _ report: RefusalReport
    ) throws(AgentError) -> AgentToken? {
        do {
            return try report.send(refused, to: endpoint, about: demand(session, nil))
        } catch {
            throw error.about(session)
        }
    }

    private func demand(_ session: String, _ proof: TokenRequest.Proof?) -> TokenRequest {
        TokenRequest(session: session, reportsRefusals: true, proof: proof)
    }
}
