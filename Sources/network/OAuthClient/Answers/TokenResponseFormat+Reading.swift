// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

extension TokenResponseFormat {
    /// The form of an Amazon Cognito user pool's responses.
    static let cognito = TokenResponseFormat(
        MemberNames(
            accessToken: "AccessToken",
            refreshToken: "RefreshToken",
            idToken: "IdToken",
            tokenType: "TokenType",
            expiresIn: "ExpiresIn"
        ),
        envelope: JSONPath(["AuthenticationResult"])
    )
    /// The form of CreateToken's responses at IAM Identity Center.
    ///
    /// Their ID token is not read, because Amazon does not use it.
    static let identityCenter = TokenResponseFormat(
        MemberNames(
            accessToken: "accessToken",
            refreshToken: "refreshToken",
            tokenType: "tokenType",
            expiresIn: "expiresIn"
        )
    )

    /// The name of the refresh token, or of the access token that takes its place.
    var renewalName: String { prolongsAccessToken ? names.accessToken : names.refreshToken }

    /// The names of the tokens that show an object to be a token response.
    var bothNames: [String] { [names.accessToken, renewalName] }

    /// Returns whether `object` itself has an access token and a refresh token.
    func hasBothTokens(_ object: JSONObject) -> Bool {
        bothNames.allSatisfy { object[$0]?.string?.utf8.isEmpty == false }
    }

    /// Returns whether the envelope of `answer` has an access token.
    func hasAccessToken(_ answer: JSONObject) -> Bool {
        paths.content(of: answer)?[names.accessToken]?.string?.utf8.isEmpty == false
    }

    /// Returns the refresh token in `object`, or `nil` if there is none.
    ///
    /// - Throws: The reason the member is not a refresh token.
    func refreshToken(in object: JSONObject) throws(TokenResponse.Problem) -> String? {
        guard !prolongsAccessToken else { return try TokenResponse.token(names.accessToken, in: object) }
        // A refresh token is sent only in forms and JSON, which allow blanks (RFC 6749 Appendix A.17).
        return try TokenResponse.token(names.refreshToken, in: object) { $0.isVisibleASCII || $0 == 0x20 }
    }

    /// Returns the lifetime of the refresh token, or `nil` if `object` does not state one.
    func refreshLifetime(in object: JSONObject) -> Duration? {
        let names = prolongsAccessToken ? [names.expiresIn] : names.refreshExpiresIn
        let told = names.lazy.compactMap { object[$0] }.first
        return LifetimeParser.read(told, in: lifetimeUnit).flatMap(LifetimeParser.positive)
    }

    /// Returns the tokens in the envelope of a response.
    ///
    /// - Parameters:
    ///   - answer: The response of the server.
    ///   - isBound: Whether the request proved possession of a key.
    ///   - isExchanged: Whether the response belongs to a token exchange.
    /// - Returns: The tokens, and the members to keep.
    /// - Throws: The reason the response has no tokens.
    func tokens(
        in answer: JSONObject,
        isBound: Bool = false,
        isExchanged: Bool = false
    ) throws(TokenResponse.Problem) -> TokenResponse {
        guard let content = paths.content(of: answer) else {
            throw TokenResponse.Problem(
                message: "the response has no object \(paths.envelope?.description ?? "")"
            )
        }
        do throws(TokenResponse.Problem) {
            var tokens = try TokenResponse(content, self, isBound: isBound, isExchanged: isExchanged)
            tokens.kept = kept(of: answer)
            return tokens
        } catch {
            var problem = error
            if let envelope = paths.envelope { problem.message += " in \(envelope)" }
            throw problem
        }
    }

    /// Returns the object in `answer` whose refresh token must be kept although the response is unusable, or
    /// `nil` if there is none.
    ///
    /// The object is the one in the envelope, or else the only one with both tokens: in that case the
    /// configured envelope is wrong.
    func leftover(in answer: JSONObject) -> JSONObject? {
        if let content = paths.content(of: answer), content[renewalName] != nil { return content }
        let found = answer.objects(upTo: JSONPath.longest).filter(hasBothTokens)
        return found.count == 1 ? found.first : nil
    }

    /// Returns the members of `answer` that the session keeps, as text, from the envelope or from an object
    /// around it.
    func kept(of answer: JSONObject) -> [String: String] {
        // The innermost layer comes first.
        paths.layers(of: answer).reversed().reduce(into: [:]) { kept, layer in
            kept.merge(layer.shown(keptMembers)) { $1 }
        }
    }

    /// Returns the error in the response of an OAuth server, or `nil` if there is none.
    ///
    /// A standard code counts first, unless the one at ``errorCode`` is a known one. The value of the mark of a
    /// success is a code too.
    ///
    /// - Parameters:
    ///   - answer: The response of the server.
    ///   - isSuccess: Whether its status is a success. Another one needs no mark to be an error.
    ///   - known: The server's own codes with a meaning.
    /// - Returns: The error, or `nil`.
    func error(
        in answer: JSONObject,
        isSuccess: Bool = true,
        known: [String] = []
    ) -> ReportedOAuthError? {
        let layers = paths.layers(of: answer)
        let mark = success.flatMap { answer[$0.member] }
        let isFailed = isUnsuccessful(answer) && (isSuccess || mark != nil)
        let usual = layers.lazy.compactMap { ReportedOAuthError($0) }.first
        guard isFailed || layers.first?[names.accessToken]?.string == nil else { return usual }
        if let placed = errorCode.flatMap({ answer[$0] }).flatMap({ $0.string ?? $0.literal }),
            !placed.isEmpty
        {
            let isKnown = known.contains { $0.bytewise == placed.bytewise }
            // Where a mark tells a success, the code of one is no error.
            let isMarked = success != nil && !isUnsuccessful(answer)
            if isKnown || !isMarked && usual?.isStandard != true {
                return ReportedOAuthError(placed, wordsFrom: answer)
            }
        }
        guard isFailed, usual == nil else { return usual }
        return ReportedOAuthError(mark?.string ?? mark?.literal ?? "unsuccessful", wordsFrom: answer)
    }

    /// Returns whether `answer` lacks the mark of a success.
    func isUnsuccessful(_ answer: JSONObject) -> Bool {
        success.map { answer[$0.member]?.text != $0.value } ?? false
    }
}

extension ReportedOAuthError {
    /// Creates an error with a server's own `code` and the reasons in `answer`.
    fileprivate init(_ code: String, wordsFrom answer: JSONObject) {
        let words = ReportedOAuthError.words(in: answer)
        self.init(code: code, description: words?.bytewise == code.bytewise ? nil : words)
    }
}
