// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// Logins that need no other program: password, client credentials and import.
extension StandardLogin {
    /// Logs in with a password (RFC 6749 §4.3), for servers that offer nothing better.
    ///
    /// The password is not kept.
    func logInByPassword() async throws(LoginError) -> LoginGrant {
        if request.isAssertion, let assertion = request.secret {
            return try await logInByAssertion(assertion)
        }
        let username = try await dialogue.username()
        return try await dialogue.withPassword(of: username) { password throws(LoginError) in
            let form = FormBody([("grant_type", "password"), ("username", username)])
            try add("password", password, to: form)
            addScope(to: form)
            profile.addAudience(to: form)
            var grant = try await exchange(form, showsPassword: true)
            grant.account = ServerText.cleaned(username, limit: 255)
            return grant
        }
    }

    /// Logs in with a token that was signed elsewhere and replaces the user's login (RFC 7523 §2.1).
    private func logInByAssertion(_ assertion: SecretID) async throws(LoginError) -> LoginGrant {
        let form = FormBody([("grant_type", AssertionGrant.grantType)])
        try add("assertion", assertion, to: form)
        addScope(to: form)
        return try await exchange(form)
    }

    /// Logs in with the client's own credentials (RFC 6749 §4.4).
    func logInByClientCredentials() async throws(LoginError) -> LoginGrant {
        guard !authentication.isPublic else {
            throw misconfigured(
                "client_credentials requires a client secret, key or assertion"
            )
        }
        let form = FormBody()
        profile.addClientGrant(to: form)
        addScope(to: form)
        profile.addAudience(to: form)
        var grant = try await exchange(form, fallback: .withoutLogin)
        // A refresh token adds nothing to the client's credentials (RFC 6749 §4.4.3).
        if let unneeded = grant.tokens.refreshToken { tools.memory.erase(unneeded) }
        grant.tokens.refreshToken = nil
        grant.renewal = .withoutLogin
        return grant
    }

    /// Imports a refresh token obtained elsewhere by using it once.
    func logInByImport() async throws(LoginError) -> LoginGrant {
        try await dialogue.importing { token throws(LoginError) in
            do throws(RefreshFailure) {
                return try await exchange(
                    try await server.renewalForm(with: token),
                    at: try server.renewing(at: endpoint),
                    fallback: .refreshToken(token)
                )
            } catch {
                throw .failed(error)
            }
        }
    }

    func addScope(to form: FormBody) {
        guard !profile.scopes.isEmpty else { return }
        form.add("scope", profile.scopes.joined(separator: profile.dialect.responses.scopeSeparator.rawValue))
    }
}
