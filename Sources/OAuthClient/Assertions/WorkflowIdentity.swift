// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// Where a job of GitHub Actions gets tokens that say which job it is.
///
/// Source: GitHub, "OpenID Connect reference", section "Methods for requesting the OIDC token".
package struct WorkflowIdentity: Sendable {
    /// `ACTIONS_ID_TOKEN_REQUEST_URL`.
    private let address: String
    /// `ACTIONS_ID_TOKEN_REQUEST_TOKEN`, good as long as the job runs.
    private let bearer: SecretID

    package init(address: String, bearer: SecretID) {
        self.address = address
        self.bearer = bearer
    }

    /// Whether the job's secret is there: it stands in no store, so what locks `memory` is its end.
    func isKept(in memory: SealedMemory) -> Bool { memory.kind(of: bearer) != nil }

    /// A token that names `audience`.
    ///
    /// - Parameters:
    ///   - audience: its `aud`.
    ///   - tools: send the request.
    /// - Returns: a JWT.
    /// - Throws: why there is none; the authorization server has seen nothing.
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
            // Whatever became of this request, none has gone to the authorization server.
            if failure.kind == .ambiguous { failure.kind = .unreachable }
            throw failure
        }
        return try read(reply, from: url)
    }

    private func read(_ reply: ServerResponse, from url: EndpointURL) throws(RefreshFailure) -> String {
        guard reply.status == 200 else {
            let message = "\(url.hostAndPort): answered \(reply.status) to a request for the job's token"
            guard [400, 401, 403, 404].contains(reply.status) else {
                throw RefreshFailure(kind: .busy, message: message)
            }
            throw RefreshFailure(
                kind: .misconfigured,
                message: message,
                remedy:
                    "the job that started the agent has to be running, with the permission id-token: write"
            )
        }
        guard let token = reply.jsonObject?["value"]?.string, token.utf8.isVisibleWord,
            token.utf8.count <= ReloadableFile.limit
        else { throw RefreshFailure(kind: .busy, message: "\(url.hostAndPort): not a token answer") }
        return token
    }
}
