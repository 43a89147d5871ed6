// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The session for a resource address, as known to the agent; its functions block.
package struct ResourceSession: Sendable {
    /// A token and the name of its session.
    package struct ResourceToken: Sendable {
        package var session: String
        package var token: AgentToken
    }

    package let address: ResourceAddress
    package let endpoint: AgentEndpoint

    /// Creates a source for `address`.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if no login is possible for the address, or
    ///   tokens could be read on the way to it.
    package init(_ address: ResourceAddress, _ endpoint: AgentEndpoint) throws(AgentError) {
        try ResourceSession.check(address)
        self.address = address
        self.endpoint = endpoint
    }

    /// Checks that a login for `address` is possible and that no one could read a token on the way to it.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest`.
    package static func check(_ address: ResourceAddress) throws(AgentError) {
        // The message does not show the address, because it may contain a password.
        guard address.isPlain else {
            throw AgentError(
                .badRequest,
                "the URL contains a user name, a fragment or characters that must be escaped",
                remedy: .set("a URL without user name and fragment, with escaped characters (%XX)")
            )
        }
        guard address.server.isPrivate, ["http", "https"].contains(address.server.scheme) else {
            throw AgentError(.badRequest, "tokens are sent only over https, or over http to this machine")
        }
    }

    /// Returns the name of the session whose resource matches the address most closely.
    ///
    /// - Throws: ``AgentError`` with the code `notFound` if there is none. This function neither creates a
    ///   session nor logs in.
    package func session() throws(AgentError) -> String {
        let answer: SessionsMessage = try endpoint.message(AgentRequest(.get, "sessions"))
        if let name = address.session(among: answer.sessions ?? []) { return name }
        throw AgentError(
            .notFound,
            "no session for \(address.text)",
            remedy: .run("tokenctl login \(ShellWord.quoted(address.text))")
        )
    }

    /// Returns a token of the session `name` if the agent still has it, else of the session found now.
    package func token(
        named name: String?,
        proof: TokenRequest.ProofTarget? = nil
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

    private func token(_ session: String, _ proof: TokenRequest.ProofTarget?) throws(AgentError) -> AgentToken
    {
        do {
            return try endpoint.token(tokenRequest(session, proof))
        } catch {
            throw error.about(session)
        }
    }

    /// Reports a rejected token and returns a token to try next.
    ///
    /// - Returns: The new token, or `nil` if another token would not help.
    /// - Throws: ``AgentError`` with the code `loginRequired` if the login has ended or the server requires
    ///   a stronger one.
    package func replacement(
        for refused: AgentToken,
        of session: String,
        _ report: TokenRejectionReport
    ) throws(AgentError) -> AgentToken? {
        do {
            return try report.send(refused, to: endpoint, about: tokenRequest(session, nil))
        } catch {
            throw error.about(session)
        }
    }

    private func tokenRequest(_ session: String, _ proof: TokenRequest.ProofTarget?) -> TokenRequest {
        TokenRequest(session: session, reportsRefusals: true, proof: proof)
    }
}
