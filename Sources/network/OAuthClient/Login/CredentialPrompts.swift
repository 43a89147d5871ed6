// SPDX-License-Identifier: MIT

import SealedStore
import SecretMemory
import TokenCore

/// Prompts for the values of a login that its request does not include.
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

    /// Calls `body` with the password of `username`.
    ///
    /// A password prompted for here is erased afterwards.
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

    /// Imports a refresh token obtained elsewhere, which `use` sends once.
    ///
    /// `use` gets a copy that is sealed as a refresh token. The secret in the request remains the caller's,
    /// whatever its kind is. The copy is erased unless it becomes the refresh token of the login.
    func importing(
        _ use: (SecretID) async throws(LoginError) -> LoginGrant
    ) async throws(LoginError) -> LoginGrant {
        try await lending(try await refreshToken(), use)
    }

    /// Calls `use` with `token`, and erases it unless it becomes the refresh token of the login.
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
        _ kind: LoginInputPrompt.Kind,
        _ prompt: String,
        isSecret: Bool = true
    ) async throws(LoginError) -> SecretID {
        do {
            return try await conversation.ask(
                LoginInputPrompt(kind: kind, prompt: prompt, isSecret: isSecret)
            )
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
