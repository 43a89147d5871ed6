// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A login response of a back end that the user has saved to a file, imported instead of a refresh token.
struct ImportedLoginResponse {
    /// The maximum size in bytes: the limit of `tokenctl`, and half of the agent's limit for a request.
    static let longest = 32 << 10

    var refreshToken: String
    /// The tokens, or `nil` if the response has no valid access token.
    var tokens: TokenResponse?
    /// The remaining lifetime of the login, or `nil` if the response does not state it.
    var refreshLifetime: Duration?
    var keptMembers: [String: String]

    /// Returns whether `bytes` begin like JSON, as no refresh token does.
    static func looksLike(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let mark = unsafe bytes.starts(with: ByteOrderMark.bytes) ? ByteOrderMark.bytes.count : 0
        let first = unsafe bytes.dropFirst(mark).first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Parses a login response that the user saved to a file.
    ///
    /// Lifetimes count from now, because it is unknown when the response was saved. An expiry in the access
    /// token shortens its lifetime.
    ///
    /// - Throws: The reason the bytes are not a login response, or cannot keep a session alive.
    init(
        _ bytes: UnsafeRawBufferPointer,
        _ rules: JSONBackEndDialect,
        at now: WallTime
    ) throws(TokenResponse.Problem) {
        guard bytes.count <= ImportedLoginResponse.longest else {
            throw ImportedLoginResponse.problem("is larger than \(ImportedLoginResponse.longest) bytes")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try unsafe JSONValue(parsing: ByteOrderMark.dropped(from: Array(bytes)))
        } catch {
            throw ImportedLoginResponse.problem("is not valid JSON (\(error))")
        }
        guard let answer = value.object else { throw ImportedLoginResponse.problem("is not a JSON object") }
        ExchangeSecrets.current?.remember(.object(answer))
        let format = rules.responses.ofLogins
        guard let content = format.paths.content(of: answer) else {
            throw ImportedLoginResponse.problem("has no object \(format.envelope?.description ?? "")")
        }
        guard let refreshToken = try format.refreshToken(in: content) else {
            throw ImportedLoginResponse.problem(
                "has no \(format.names.refreshToken), which refreshes require"
            )
        }
        self.refreshToken = refreshToken
        refreshLifetime = format.refreshLifetime(in: content)
        keptMembers = format.kept(of: answer)
        guard try TokenResponse.token(format.names.accessToken, in: content) != nil else { return }
        var tokens = try TokenResponse(content, format)
        if let end = JWTParts(tokens.accessToken)?.claims.seconds("exp") {
            let left = WallTime(secondsSince1970: end) - now
            guard left > .zero else { return }
            tokens.expiresIn = min(left, tokens.expiresIn ?? left)
        }
        self.tokens = tokens
    }

    private static func problem(_ words: String) -> TokenResponse.Problem {
        TokenResponse.Problem(message: "the saved response \(words)", kind: .misconfigured)
    }
}

// MARK: - Import

extension JSONLogin {
    /// Imports a refresh token obtained elsewhere by using it once, or imports a saved login response.
    ///
    /// A saved access token is served as it is. If it is not valid, the refresh token is used.
    func logInByImport() async throws(LoginError) -> LoginGrant {
        try await dialogue.importing { given throws(LoginError) in
            guard let saved = try saved(given) else { return try await renewed(by: given) }
            guard let tokens = saved.tokens else {
                let token = try sealed(saved.refreshToken)
                return try await dialogue.lending(token) { token throws(LoginError) in
                    try await renewed(by: token, saved)
                }
            }
            do throws(RefreshFailure) {
                let now = server.tools.timekeeper.now
                let granted = try server.tools.seal(tokens, requestedAt: now, kept: saved.keptMembers)
                return grant(granted, account: dialogue.request.username)
            } catch {
                throw .failed(error)
            }
        }
    }

    /// Refreshes once with the refresh token `token`.
    ///
    /// `saved` provides what the response does not contain.
    private func renewed(
        by token: SecretID,
        _ saved: ImportedLoginResponse? = nil
    ) async throws(LoginError) -> LoginGrant {
        do throws(RefreshRequestError) {
            var tokens = try await server.tokens(refreshing: token)
            if let saved {
                tokens.keptMembers = saved.keptMembers.merging(tokens.keptMembers) { $1 }
                tokens.refreshLifetime =
                    tokens.refreshLifetime ?? saved.refreshLifetime.map { RefreshLifetime($0) }
            }
            return grant(tokens, fallback: .refreshToken(token), account: dialogue.request.username)
        } catch {
            throw .failed(error.failure)
        }
    }

    private func sealed(_ token: String) throws(LoginError) -> SecretID {
        do throws(RefreshFailure) {
            return try memory.sealing(token, as: .refreshToken)
        } catch {
            throw .failed(error)
        }
    }

    /// Parses `secret` as a saved login response, or returns `nil` if it is a refresh token.
    private func saved(_ secret: SecretID) throws(LoginError) -> ImportedLoginResponse? {
        let now = server.tools.timekeeper.wallTime
        let rules = backEnd.rules
        let answer: Result<ImportedLoginResponse, TokenResponse.Problem>?
        do {
            answer = try unsafe memory.open(secret) { bytes in
                guard unsafe ImportedLoginResponse.looksLike(bytes) else { return nil }
                return Result { () throws(TokenResponse.Problem) in
                    try unsafe ImportedLoginResponse(bytes, rules, at: now)
                }
            }
        } catch {
            throw .failed(.locked)
        }
        do throws(TokenResponse.Problem) {
            return try answer?.get()
        } catch {
            throw misconfigured(error.message)
        }
    }
}
