// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// A logout at a back end of kind `json`.
struct JSONLogout {
    var server: JSONServer
    var tokens: RevocationRequest

    private var tools: ServerDependencies { server.tools }
    private var rules: JSONBackEndDialect { server.backEnd.rules }

    func run() async -> RevocationOutcome {
        guard tokens.accessToken != nil || tokens.refreshToken != nil else { return .nothing }
        guard let address = server.backEnd.logoutURL else {
            return .unsupported("the session has no logout_url: its tokens remain valid until they expire")
        }
        do throws(RefreshFailure) {
            try server.checkPin(tokens.tokenEndpoint)
            return try await logOut(at: address)
        } catch {
            // If the server no longer knows the session, the session is already logged out.
            return error.kind == .sessionOver ? .revoked : RevocationOutcome(error)
        }
    }

    /// Logs out.
    ///
    /// Without an access token, or if the token has expired, it refreshes first.
    private func logOut(at address: String) async throws(RefreshFailure) -> RevocationOutcome {
        guard let accessToken = tokens.accessToken else { return try await renewAndLogOut(at: address) }
        let answer = try await post(accessToken, tokens.refreshToken, to: address)
        if isDone(answer) { return .revoked }
        guard tokens.refreshToken != nil, answer.reply.status == 401, asksForRefresh(answer.reply) else {
            throw server.failure(answer)
        }
        return try await renewAndLogOut(at: address)
    }

    /// Refreshes and then logs out.
    ///
    /// After the server has replaced the refresh token, a failed logout cannot be retried with the old one.
    private func renewAndLogOut(at address: String) async throws(RefreshFailure) -> RevocationOutcome {
        guard let refreshToken = tokens.refreshToken else { return .nothing }
        let renewed: GrantedTokens
        do throws(RefreshRequestError) {
            renewed = try await server.tokens(refreshing: refreshToken)
        } catch {
            throw error.failure
        }
        defer { forget(renewed) }
        do throws(RefreshFailure) {
            let newest = renewed.refreshToken ?? refreshToken
            let answer = try await post(renewed.accessToken, newest, to: address)
            if isDone(answer) { return .revoked }
            throw server.failure(answer)
        } catch {
            guard error.kind != .sessionOver else { throw error }
            return renewed.refreshToken == nil ? RevocationOutcome(error) : .refused(error)
        }
    }

    /// Returns whether the server says that the session is over.
    private func isDone(_ answer: JSONServer.Answer) -> Bool {
        answer.isSuccess && answer.reply.jsonObject.map(rules.responses.isUnsuccessful) != true
    }

    private func post(
        _ accessToken: SecretID,
        _ refreshToken: SecretID?,
        to address: String
    ) async throws(RefreshFailure) -> JSONServer.Answer {
        try await server.post(
            { members throws(RefreshFailure) in
                guard rules.logoutSendsRefreshToken, let refreshToken else { return }
                try members.add(rules.responses.names.refreshToken, refreshToken, from: tools.memory)
            },
            to: address,
            for: .logout,
            bearer: accessToken
        )
    }

    private func asksForRefresh(_ reply: ServerResponse) -> Bool {
        guard let object = reply.jsonObject else { return false }
        return JSONErrorResponse(object, at: rules.responses.paths).codes.contains {
            rules.refreshCodes.contains($0)
        }
    }

    private func forget(_ renewed: GrantedTokens) {
        tools.memory.erase(renewed.accessToken)
        if let refreshToken = renewed.refreshToken { tools.memory.erase(refreshToken) }
    }
}
