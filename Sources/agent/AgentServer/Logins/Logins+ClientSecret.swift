// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

extension Logins {
    /// Serves `POST …/client-secret`: stores a client secret from the user.
    ///
    /// The response is sent once the secret is on disk; it is used from then on.
    ///
    /// - Throws: ``RequestFailure`` if the secret is missing or the agent does not serve.
    func serveClientSecret(
        _ request: HTTPRequest,
        _ name: SessionName,
        on connection: Connection
    ) throws(RequestFailure) {
        let text = try ParsedRequestBody(request.body, ClientSecretRequestMembers.self).required(\.secret)
        guard !text.isEmpty else {
            throw RequestFailure(code: .badRequest, message: "empty client secret", session: name)
        }
        guard phase.current == .working else { throw phase.refusal }
        let secret = try seal(text, as: .clientSecret)
        tasks.start {
            do throws(RefreshFailure) {
                try await self.authorization.keepClientSecret(secret, for: name)
            } catch {
                self.audit.add(.clientSecret, .failed, name, by: .peer(of: connection))
                return connection.answer(HTTPResponse(RequestFailure(error, of: name)))
            }
            self.audit.add(.clientSecret, .done, name, by: .peer(of: connection))
            // Without a secret, or with a wrong one, the session was suspended.
            self.registry.apply(name) { session, moment in session.secretGiven(at: moment) }
            connection.answer(.message(ClientSecretMessage { $0.session = name.description }))
        }
    }
}
