// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// The service that issues tokens with the identity of a GitHub Actions job.
///
/// Source: GitHub, "OpenID Connect reference", section "Methods for requesting the OIDC token".
package struct GitHubActionsTokenService: Sendable {
    /// The `ACTIONS_ID_TOKEN_REQUEST_URL`.
    private let address: String
    /// The `ACTIONS_ID_TOKEN_REQUEST_TOKEN`, which is valid while the job runs.
    private let bearer: SecretID

    package init(address: String, bearer: SecretID) {
        self.address = address
        self.bearer = bearer
    }

    /// Returns whether the job's secret still exists.
    ///
    /// Locking `memory` deletes the secret, because it is not in the store.
    func isKept(in memory: SealedMemory) -> Bool { memory.kind(of: bearer) != nil }

    /// Fetches a token for `audience`.
    ///
    /// - Parameters:
    ///   - audience: The `aud` of the token.
    ///   - tools: Sends the request.
    /// - Returns: A JWT.
    /// - Throws: The reason there is no token. Nothing was sent to the authorization server.
    func token(for audience: String, _ tools: ServerDependencies) async throws(RefreshFailure) -> String {
        let mark = address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        let url = try EndpointURL(
            "\(address)\(mark)audience=\(PercentCoding.encoded(audience))",
            of: "ACTIONS_ID_TOKEN_REQUEST_URL"
        )
        var request = OutgoingRequest(url: url, trust: ServerTrust())
        request.headers = [
            ("accept", "application/json"),
            ("authorization", "Bearer " + (try tools.memory.text(of: bearer))),
        ]
        let reply: ServerResponse
        do throws(TransportFailure) {
            reply = try await tools.exchanged(request)
        } catch {
            var failure = error.refreshFailure(at: url)
            // Whether or not this request arrived, none was sent to the authorization server.
            if failure.kind == .ambiguous { failure.kind = .unreachable }
            throw failure
        }
        return try read(reply, from: url)
    }

    private func read(_ reply: ServerResponse, from url: EndpointURL) throws(RefreshFailure) -> String {
        guard reply.status == 200 else {
            let message = "\(url.hostAndPort): returned \(reply.status) instead of the job's token"
            guard [400, 401, 403, 404].contains(reply.status) else {
                throw RefreshFailure(kind: .busy, message: message)
            }
            throw RefreshFailure(
                kind: .misconfigured,
                message: message,
                remedy: .retry("while the job runs, with its permission id-token: write")
            )
        }
        guard let token = reply.jsonObject?["value"]?.string, token.utf8.isVisibleWord,
            token.utf8.count <= ReloadableFile.limit
        else { throw RefreshFailure(kind: .busy, message: "\(url.hostAndPort): not a token response") }
        return token
    }
}
