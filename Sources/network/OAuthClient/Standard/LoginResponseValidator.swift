// SPDX-License-Identifier: MIT

import TokenCore

/// Validation of the response to a login's token request, which decides the parts of the response that are
/// used.
struct LoginResponseValidator {
    let server: StandardServer
    let metadata: ServerMetadata
    let clientSecret: SecretID?
    /// The nonce of the authorization request.
    ///
    /// With one, OpenID Connect requires an ID token.
    let nonce: String?

    /// Validates and then seals the response.
    ///
    /// Nothing of it is used until its ID token is validated or left out.
    ///
    /// - Parameters:
    ///   - answer: The response of the server.
    ///   - requestedAt: The time just before the request, from which lifetimes count.
    ///   - fallback: The way to refresh if the response has no refresh token.
    /// - Returns: The finished login.
    /// - Throws: The reason the whole response is rejected.
    func grant(
        _ answer: TokenResponse,
        _ requestedAt: Instant,
        fallback: RenewalMethod
    ) async throws(RefreshFailure) -> LoginGrant {
        var (answer, user, remarks) = try await judged(answer)
        if let remark = server.profile.audienceRemark(on: answer, asked: nil) { remarks.append(remark) }
        var tokens = try server.tools.seal(answer, requestedAt: requestedAt, remarks: remarks)
        let renewal = tokens.refreshToken.map(RenewalMethod.refreshToken) ?? fallback
        var renewalURL: String?
        if case .refreshToken = renewal {
            renewalURL = server.profile.dialect.renewalURL
        } else {
            tokens.refreshToken = nil
        }
        return LoginGrant(
            tokens: tokens,
            renewal: renewal,
            tokenEndpoint: renewalURL ?? metadata.token.description,
            subject: (user?.subject).map { ServerText.cleaned($0, limit: 255) },
            account: (user?.account).map { ServerText.cleaned($0, limit: 255) }
        )
    }

    /// Returns `answer`, with its ID token only if that is valid, and the user that the ID token names.
    private func judged(
        _ answer: TokenResponse
    ) async throws(RefreshFailure) -> (TokenResponse, IDTokenVerifier.VerifiedUser?, [GrantWarning]) {
        var answer = answer
        guard let idToken = answer.idToken else {
            // Some servers grant `openid` and send no ID token. The account then remains unknown, and the
            // user is told so.
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
            let user = try await verifier.verifyLogin(idToken, accessToken: answer.accessToken)
            return (answer, user, [])
        } catch {
            // The nonce of another login means that somebody else's response was injected (RFC 9700
            // §4.5.3.2).
            guard !server.promisesIDTokens, !verifier.hasForeignNonce(idToken) else { throw error }
            answer.idToken = nil
            return (answer, nil, [.idTokenDropped(error)])
        }
    }
}
