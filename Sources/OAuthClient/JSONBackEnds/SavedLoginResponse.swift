// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// The answer of a back end's login, saved by somebody and given to us in place of a refresh token.
struct SavedLoginResponse {
    /// Bytes of the largest one: what `tokenctl` reads, and half of what the agent takes in a request.
    static let longest = 32 << 10

    var refreshToken: String
    /// `nil`: it has none that is still good.
    var tokens: TokenResponse?
    /// How long the login lives from now on; `nil`: the answer does not say.
    var refreshLifetime: Duration?
    var keptMembers: [String: String]

    /// Whether `bytes` are JSON rather than a refresh token, which does not begin like this.
    static func looksLike(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let mark = unsafe bytes.starts(with: ByteOrderMark.bytes) ? ByteOrderMark.bytes.count : 0
        let first = unsafe bytes.dropFirst(mark).first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Reads an answer; its lifetimes count from now, as nobody knows when it was saved, unless the access token
    /// says itself when it ends.
    ///
    /// - Throws: why it is none, or none that a session could be kept alive with.
    init(_ bytes: UnsafeRawBufferPointer, _ rules: JSONRules, at now: WallTime) throws(TokenResponse.Problem)
    {
        guard bytes.count <= SavedLoginResponse.longest else {
            throw SavedLoginResponse.problem("is larger than \(SavedLoginResponse.longest) bytes")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try unsafe JSONValue(parsing: ByteOrderMark.dropped(from: Array(bytes)))
        } catch {
            throw SavedLoginResponse.problem("cannot be read as JSON (\(error))")
        }
        guard let answer = value.object else { throw SavedLoginResponse.problem("is not a JSON object") }
        ExchangeSecrets.current?.remember(.object(answer))
        guard let content = rules.places(in: .login).content(of: answer) else {
            throw SavedLoginResponse.problem("has no object \(rules.envelope?.description ?? "")")
        }
        guard let refreshToken = try rules.fields.renewal.refreshToken(in: content) else {
            throw SavedLoginResponse.problem(
                "has no \(rules.fields.refreshToken), without which it cannot be kept alive"
            )
        }
        self.refreshToken = refreshToken
        refreshLifetime = rules.fields.renewal.lifetime(in: content)
        keptMembers = rules.kept(of: answer, .login)
        guard try TokenResponse.token(rules.fields.accessToken, in: content) != nil else { return }
        var tokens = try TokenResponse(content, rules.fields)
        if let end = JWTParts(tokens.accessToken)?.claims.seconds("exp") {
            let left = WallTime(secondsSince1970: end) - now
            guard left > .zero else { return }
            tokens.expiresIn = min(left, tokens.expiresIn ?? left)
        }
        self.tokens = tokens
    }

    private static func problem(_ words: String) -> TokenResponse.Problem {
        TokenResponse.Problem(message: "the saved answer \(words)", kind: .misconfigured)
    }
}

// MARK: - Import

extension JSONLogin {
    /// Takes over a refresh token obtained elsewhere, by using it once, or a saved answer of the login.
    ///
    /// The saved access token is served as it is; without one that is still good the refresh token is used.
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

    /// Uses `token` once; `saved` has what the answer leaves out.
    private func renewed(
        by token: SecretID,
        _ saved: SavedLoginResponse? = nil
    ) async throws(LoginError) -> LoginGrant {
        do throws(FailedRenewal) {
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

    /// The answer in `secret`; `nil`: it is a refresh token.
    private func saved(_ secret: SecretID) throws(LoginError) -> SavedLoginResponse? {
        let now = server.tools.timekeeper.wallTime
        let rules = backEnd.rules
        let answer: Result<SavedLoginResponse, TokenResponse.Problem>?
        do {
            answer = try unsafe memory.open(secret) { bytes in
                guard unsafe SavedLoginResponse.looksLike(bytes) else { return nil }
                return Result { () throws(TokenResponse.Problem) in
                    try unsafe SavedLoginResponse(bytes, rules, at: now)
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
