// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// Logins that need no other program: password, client credentials, import.
extension StandardLogin {
    /// RFC 6749 §4.3, for servers that offer nothing better; the password is kept nowhere.
    func logInByPassword() async throws(LoginStop) -> LoginGrant {
        if request.isAssertion, let assertion = request.secret {
            return try await logInByAssertion(assertion)
        }
        let username = try await username()
        let asked = request.secret == nil
        let password: SecretID
        if let secret = request.secret {
            password = secret
        } else {
            let prompt = "Password of \(ServerText.cleaned(username, limit: 100))"
            password = try await ask(.password, prompt, isSecret: true)
        }
        defer { if asked { tools.vault.erase(password) } }
        let form = FormBody([("grant_type", "password"), ("username", username)])
        try add("password", password, to: form)
        addScope(to: form)
        var grant = try await exchange(form, showsPassword: true)
        grant.account = ServerText.cleaned(username, limit: 255)
        return grant
    }

    /// RFC 7523 §2.1: a token that somebody else has signed stands for the person.
    private func logInByAssertion(_ assertion: SecretID) async throws(LoginStop) -> LoginGrant {
        let form = FormBody([("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")])
        try add("assertion", assertion, to: form)
        addScope(to: form)
        return try await exchange(form)
    }

    /// RFC 6749 §4.4: the client itself is who logs in.
    func logInByClientCredentials() async throws(LoginStop) -> LoginGrant {
        guard authentication.secret != nil else {
            throw misconfigured("client_credentials needs a client secret")
        }
        let form = FormBody([("grant_type", "client_credentials")])
        addScope(to: form)
        profile.addAudience(to: form)
        var grant = try await exchange(form, fallback: .clientCredentials)
        // A refresh token here says nothing the credentials do not (RFC 6749 §4.4.3).
        if let unneeded = grant.tokens.refreshToken { tools.vault.erase(unneeded) }
        grant.tokens.refreshToken = nil
        grant.renewal = .clientCredentials
        return grant
    }

    /// Takes over a refresh token obtained elsewhere, by using it once.
    func logInByImport() async throws(LoginStop) -> LoginGrant {
        let token = try await importedToken()
        let form = FormBody([("grant_type", "refresh_token")])
        try add("refresh_token", token, to: form)
        do throws(LoginStop) {
            let grant = try await exchange(form, fallback: .refreshToken(token))
            if grant.renewal != .refreshToken(token) { tools.vault.erase(token) }
            return grant
        } catch {
            tools.vault.erase(token)
            throw error
        }
    }

    /// A copy of our own, sealed as what it is; the caller's stays the caller's.
    private func importedToken() async throws(LoginStop) -> SecretID {
        let given: SecretID
        if let secret = request.secret {
            given = secret
        } else {
            given = try await ask(.refreshToken, "Refresh token", isSecret: true)
        }
        defer { if request.secret == nil { tools.vault.erase(given) } }
        do {
            return try unsafe tools.vault.open(given) { unsafe try tools.vault.seal($0, as: .refreshToken) }
        } catch {
            throw .failed(.locked)
        }
    }

    func addScope(to form: FormBody) {
        guard !profile.scopes.isEmpty else { return }
        form.add("scope", profile.scopes.joined(separator: " "))
    }

    private func username() async throws(LoginStop) -> String {
        if let username = request.username { return username }
        let answer = try await ask(.username, "User name", isSecret: false)
        defer { tools.vault.erase(answer) }
        return try text(of: answer)
    }
}
