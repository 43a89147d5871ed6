// SPDX-License-Identifier: MIT

import TokenCore

/// Tells a back end of kind `json` that its session is over.
///
/// Nothing local waits for it: whatever the server says or does not say, a logout is final here.
struct JSONLogout {
    var server: JSONServer
    var tokens: RevocationRequest

    private var tools: ServerTools { server.tools }
    private var rules: JSONRules { server.backEnd.rules }

    func run() async -> RevocationOutcome {
        guard let address = server.backEnd.logoutURL, let accessToken = tokens.accessToken else {
            return .unsupported
        }
        do throws(RefreshFailure) {
            try server.checkPin(tokens.tokenEndpoint)
            return try await logOut(at: address, with: accessToken, tokens.refreshToken)
        } catch {
            return .refused(error)
        }
    }

    /// An access token that is too old to log out with is renewed for it, once.
    private func logOut(
        at address: String,
        with accessToken: SecretID,
        _ refreshToken: SecretID?
    ) async throws(RefreshFailure) -> RevocationOutcome {
        let (reply, url) = try await post(accessToken, refreshToken, to: address)
        if isDone(reply) { return .revoked }
        guard let refreshToken, reply.status == 401, asksForRefresh(reply) else {
            throw rules.classify(reply, from: url.hostAndPort, at: tools.timekeeper.wallTime)
        }
        let renewed = try await server.tokens(refreshing: refreshToken)
        defer { forget(renewed) }
        let newest = renewed.refreshToken ?? refreshToken
        let (again, _) = try await post(renewed.accessToken, newest, to: address)
        guard !isDone(again) else { return .revoked }
        throw rules.classify(again, from: url.hostAndPort, at: tools.timekeeper.wallTime)
    }

    private func post(
        _ accessToken: SecretID,
        _ refreshToken: SecretID?,
        to address: String
    ) async throws(RefreshFailure) -> (HTTPReply, EndpointURL) {
        try await server.post(
            { members throws(RefreshFailure) in
                guard rules.logoutSendsRefreshToken, let refreshToken else { return }
                try members.add(rules.fields.refreshToken, refreshToken, from: tools.vault)
            },
            to: address,
            bearer: accessToken
        )
    }

    /// A session the server knows nothing of any more is as good as logged out.
    private func isDone(_ reply: HTTPReply) -> Bool {
        if (200..<300).contains(reply.status) { return true }
        let failure = rules.classify(reply, from: "", at: tools.timekeeper.wallTime)
        return failure.kind == .sessionOver
    }

    private func asksForRefresh(_ reply: HTTPReply) -> Bool {
        guard let object = reply.jsonObject else { return false }
        let refusal = JSONRefusal(object, reauthMember: rules.fields.requiresReauth)
        return refusal.codes.contains { rules.refreshCodes.contains($0) }
    }

    private func forget(_ renewed: GrantedTokens) {
        tools.vault.erase(renewed.accessToken)
        if let refreshToken = renewed.refreshToken { tools.vault.erase(refreshToken) }
    }
}
