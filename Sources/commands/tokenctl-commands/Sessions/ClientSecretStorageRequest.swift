// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// A request that stores the secret of a session's client, sealed, in the agent's store.
struct ClientSecretStorageRequest {
    let session: String

    /// Reads the secret from standard input.
    static func secret() throws(AgentError) -> Secret { try StandardInput.secret("client secret") }

    /// Sends the secret, which is durable when this function returns.
    func send(_ secret: consuming Secret, to endpoint: AgentEndpoint) throws(AgentError) {
        var body = AgentRequestBody<ClientSecretRequestMembers>()
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
