// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// Decides which parts of the answer to a login's token request are believed.
struct LoginResponseValidator {
    let server: StandardServer
    let metadata: ServerMetadata
    let clientSecret: SecretID?
    /// Of the authorization request; with one, OpenID Connect requires an ID token.
    let nonce: String?

    /// Validates first, seals after: nothing of an answer is used until its ID token is believed or left out.
    ///
    /// - Parameters:
    ///   - answer: what the server said.
    ///   - requestedAt: when it was asked, from which lifetimes count.
    ///   - fallback: how to renew when the answer has no refresh token.
    /// - Returns: the finished login.
    /// - Throws: why the whole answer is not believed.
    func grant(
        _ answer: TokenResponse,
        _ requestedAt: Instant,
        fallback: Renewal
    ) async throws(RefreshFailure) -> LoginGrant {
        var (answer, subject, remarks) = try await judged(answer)
        if let remark = server.profile.audienceRemark(on: answer, asked: nil) { remarks.append(remark) }
        var tokens = try server.tools.seal(answer, requestedAt: requestedAt, remarks: remarks)
        let renewal = tokens.refreshToken.map(Renewal.refreshToken) ?? fallback
        if case .refreshToken = renewal {} else { tokens.refreshToken = nil }
        return LoginGrant(
            tokens: tokens,
            renewal: renewal,
            tokenEndpoint: metadata.token.description,
            subject: subject.map { ServerText.cleaned($0, limit: 255) }
        )
    }

    /// `answer`, with its ID token only if that is believed, and the subject that the ID token names.
    private func judged(
        _ answer: TokenResponse
    ) async throws(RefreshFailure) -> (TokenResponse, subject: String?, [GrantWarning]) {
        var answer = answer
        guard let idToken = answer.idToken else {
            // There are servers that grant openid and send none: whose login it is stays unknown, and is said.
            return (answer, nil, answer.idTokenProblem.map { [.idTokenDropped($0)] } ?? [])
        }
        let verifier = IDTokenVerifier(
            profile: server.profile,
            metadata: metadata,
            keys: server.keys,
            clientSecret: clientSecret,
            nonce: nonce,
            tools: server.tools
        )
        do throws(RefreshFailure) {
            let subject = try await verifier.verifyLogin(idToken, accessToken: answer.accessToken)
            return (answer, subject, [])
        } catch {
            // The nonce of another login means that somebody else's answer was slipped in (RFC 9700 §4.5.3.2).
            guard !server.promisesIDTokens, !verifier.hasForeignNonce(idToken) else { throw error }
            answer.idToken = nil
            return (answer, nil, [.idTokenDropped(error.message)])
        }
    }
}
