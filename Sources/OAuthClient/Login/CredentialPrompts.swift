// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// Asks the questions of a login that its request does not answer already.
struct CredentialPrompts {
    var request: LoginRequest
    var conversation: any LoginPrompting
    var memory: SealedMemory

    func username() async throws(LoginError) -> String {
        if let username = request.username { return username }
        let answer = try await ask(.username, "User name", isSecret: false)
        defer { memory.erase(answer) }
        return try text(of: answer)
    }

    /// Lends the password of `username`; one that was asked for here is erased afterwards.
    func withPassword<Result>(
        of username: String,
        _ body: (SecretID) async throws(LoginError) -> Result
    ) async throws(LoginError) -> Result {
        if let secret = request.secret { return try await body(secret) }
        let prompt = "Password of \(ServerText.cleaned(username, limit: 100))"
        let password = try await ask(.password, prompt)
        defer { memory.erase(password) }
        return try await body(password)
    }

    /// Takes over a refresh token obtained elsewhere, which `use` uses once.
    ///
    /// `use` gets a copy, sealed as a refresh token; the secret in the request stays the caller's, whatever
    /// it was sealed as. The copy is erased unless the login is renewed with it.
    func importing(
        _ use: (SecretID) async throws(LoginError) -> LoginGrant
    ) async throws(LoginError) -> LoginGrant {
        try await lending(try await refreshToken(), use)
    }

    /// Lends `token` to `use`; it is erased unless the login is renewed with it.
    func lending(
        _ token: SecretID,
        _ use: (SecretID) async throws(LoginError) -> LoginGrant
    ) async throws(LoginError) -> LoginGrant {
        do throws(LoginError) {
            let grant = try await use(token)
            if grant.renewal != .refreshToken(token) { memory.erase(token) }
            return grant
        } catch {
            memory.erase(token)
            throw error
        }
    }

    private func refreshToken() async throws(LoginError) -> SecretID {
        let given: SecretID
        if let secret = request.secret {
            given = secret
        } else {
            given = try await ask(.refreshToken, "Refresh token")
        }
        defer { if request.secret == nil { memory.erase(given) } }
        do {
            return try unsafe memory.open(given) { unsafe try memory.seal($0, as: .refreshToken) }
        } catch {
            throw .failed(.locked)
        }
    }

    func ask(
        _ kind: LoginPrompt.Kind,
        _ prompt: String,
        isSecret: Bool = true
    ) async throws(LoginError) -> SecretID {
        do {
            return try await conversation.ask(LoginPrompt(kind: kind, prompt: prompt, isSecret: isSecret))
        } catch {
            throw .cancelled
        }
    }

    func text(of secret: SecretID) throws(LoginError) -> String {
        do throws(RefreshFailure) {
            return try memory.text(of: secret)
        } catch {
            throw .failed(error)
        }
    }
}
