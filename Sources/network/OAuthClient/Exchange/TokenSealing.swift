// SPDX-License-Identifier: MIT

import TokenCore

extension ServerDependencies {
    /// Seals the tokens of a validated response.
    ///
    /// - Parameters:
    ///   - answer: The response, whose ID token has been validated or removed.
    ///   - requestedAt: The time just before the request was sent.
    ///   - sent: The refresh token of the request.
    ///   - kept: The members of the response that are not secret.
    ///   - remarks: The warnings for the user about the response.
    /// - Returns: The tokens, by their names in sealed memory.
    /// - Throws: `busy` while sealed memory is locked.
    func seal(
        _ answer: TokenResponse,
        requestedAt: Instant,
        sent: SecretID? = nil,
        kept: [String: String] = [:],
        remarks: [GrantWarning] = []
    ) throws(RefreshFailure) -> GrantedTokens {
        let isUnchanged = try isSame(answer.refreshToken, as: sent)
        var granted = GrantedTokens(
            accessToken: try memory.sealing(answer.accessToken, as: .accessToken),
            refreshTokenUnchanged: isUnchanged,
            tokenType: answer.tokenType,
            scope: answer.scope,
            lifetime: TokenLifetime.of(answer, at: timekeeper.wallTime),
            refreshLifetime: isUnchanged
                ? answer.refreshExpiresIn.map { RefreshLifetime($0) } : TokenLifetime.ofRefreshToken(answer),
            requestedAt: requestedAt,
            serverClockAhead: answer.serverTime.map { $0 - timekeeper.wallTime },
            keptMembers: answer.kept.merging(kept) { $1 },
            remarks: answer.remarks + remarks
        )
        granted.serverTokenType = answer.serverTokenType
        granted.fingerprint = memory.fingerprint(of: granted.accessToken)
        if let idToken = answer.idToken {
            let lifetime = TokenLifetime.ofIDToken(idToken, in: answer, at: timekeeper.wallTime)
            granted.idToken = IDToken(
                secret: try memory.sealing(idToken, as: .idToken),
                life: ValidityPeriod(obtainedAt: requestedAt, expiresAt: lifetime.map { requestedAt + $0 })
            )
        }
        if let refreshToken = answer.refreshToken, !isUnchanged {
            granted.refreshToken = try memory.sealing(refreshToken, as: .refreshToken)
        }
        return granted
    }

    func isSame(_ token: String?, as sent: SecretID?) throws(RefreshFailure) -> Bool {
        guard var token, let sent else { return false }
        do {
            return try token.withUTF8 { bytes in
                unsafe try memory.holds(UnsafeRawBufferPointer(bytes), in: sent)
            }
        } catch {
            throw .locked
        }
    }
}
