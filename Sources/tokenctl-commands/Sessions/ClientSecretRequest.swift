// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Gives the agent the secret of a session's client, which it keeps sealed in its store.
struct ClientSecretRequest {
    let session: String

    /// Reads the secret from standard input.
    static func secret() throws(AgentError) -> Secret { try StandardInput.secret("client secret") }

    /// Sends it; it is durable when this returns.
    func send(_ secret: consuming Secret, to endpoint: AgentEndpoint) throws(AgentError) {
        var body = JSONBody<ClientSecretMembers>()
        body.add(\.secret, secret: secret)
        var request = AgentRequest(.post, "sessions", session, "client-secret", body: body.finished())
        defer { request.wipeBody() }
        do throws(AgentError) {
            let _: ClientSecretMessage = try endpoint.message(request)
        } catch {
            throw error.about(session)
        }
    }
}
