// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// A successful token answer, read but not yet believed (RFC 6749 §5.1).
struct TokenResponse: Equatable, Sendable {
    var accessToken: String
    var tokenType: String
    var refreshToken: String?
    var idToken: String?
    /// Why the answer's ID token cannot be read; `nil`: it can, or there is none.
    var idTokenProblem: String?
    var scope: [String]?
    /// `nil`: the answer does not say.
    var expiresIn: Duration?
    var refreshExpiresIn: Duration?
    /// The `Date` of the answer, if the caller has set it.
    var serverTime: WallTime?

    /// Why a body is not a token answer; of the body it quotes at most the token type.
    struct Problem: Error, Equatable {
        var message: String
        /// `misbehaved`, or `misconfigured` where the server gives another kind of token than the session wants.
        var kind = FailureClass.misbehaved
        var remedy: String?

        /// The problem as a failure of `server`.
        func failure(of server: String) -> RefreshFailure {
            RefreshFailure(kind: kind, message: ServerText.cleaned("\(server): \(message)"), remedy: remedy)
        }
    }

    /// Reads the members we know; unknown ones are ignored, duplicate ones refused.
    ///
    /// - Parameters:
    ///   - object: the body.
    ///   - isBound: the request proved possession of a key: a token that anybody could use is refused (RFC
    ///     9449 §5).
    ///   - isExchanged: it answers an exchange, which may bring a token of another kind.
    /// - Throws: why it is not a token answer.
    init(_ object: JSONObject, isBound: Bool = false, isExchanged: Bool = false) throws(Problem) {
        guard let accessToken = try TokenResponse.token("access_token", in: object) else {
            throw Problem(message: "the answer has no access_token")
        }
        self.accessToken = accessToken
        refreshToken = try RenewalMembers.standard.refreshToken(in: object)
        (idToken, idTokenProblem) = TokenResponse.idToken("id_token", in: object)
        tokenType = object["token_type"]?.string ?? "Bearer"
        if isExchanged { try readExchanged(object) }
        try TokenResponse.checkType(tokenType, isBound: isBound)
        scope = try TokenResponse.scope(object["scope"])
        expiresIn = LifetimeMember.read(object["expires_in"])
        refreshExpiresIn = RenewalMembers.standard.lifetime(in: object)
    }

    /// What only an exchange answers (RFC 8693 §2.2.1): a token that is no access token has the type `N_A`, and is sent
    /// by those who get it as they see fit.
    private mutating func readExchanged(_ object: JSONObject) throws(Problem) {
        if let issued = object["issued_token_type"]?.string, TokenType(written: issued) == .refreshToken {
            let message = "the answer's access_token is a refresh token, which nobody is given"
            throw Problem(message: message, kind: .misconfigured, remedy: "set requested_token_type")
        }
        if tokenType.bytewise.lowercased == "n_a" { tokenType = "Bearer" }
    }

    /// The ID token, or why it cannot be read: a session can do without it, not without the refresh token
    /// beside it.
    static func idToken(_ member: String, in object: JSONObject) -> (token: String?, problem: String?) {
        do throws(Problem) {
            return (try token(member, in: object), nil)
        } catch {
            return (nil, error.message)
        }
    }

    private static func checkType(_ type: String, isBound: Bool) throws(Problem) {
        let given = type.bytewise.lowercased
        guard given != (isBound ? "dpop" : "bearer") else { return }
        let shown = ServerText.cleaned(type, limit: 40)
        guard isBound else {
            let remedy = given == "dpop" ? "set dpop = true" : nil
            let message = "the answer's token_type is \(shown), which this session cannot use"
            throw Problem(message: message, kind: .misconfigured, remedy: remedy)
        }
        throw Problem(
            message:
                "the answer's token_type is \(shown), not DPoP: the server does not bind this token to the key",
            kind: .misconfigured,
            remedy: "have DPoP enabled for this client at the server, or remove dpop and log in again"
        )
    }

    /// A missing, `null` or empty token is none; one that could not travel in a header is refused.
    static func token(_ name: String, in object: JSONObject) throws(Problem) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .string(let text) where text.utf8.isEmpty: return nil
        case .string(let text):
            guard text.utf8.allSatisfy(\.isVisibleASCII) else {
                throw Problem(message: "the answer's \(name) holds characters no token may have")
            }
            return text
        case .bool, .number, .array, .object:
            throw Problem(message: "the answer's \(name) is not a string")
        }
    }

    /// Words of a scope: far more than anybody grants, few enough to keep, to show and to compare.
    static let mostScopes = 500

    /// A space-separated string, or, as some vendors have it, an array of strings.
    private static func scope(_ value: JSONValue?) throws(Problem) -> [String]? {
        let words: [Substring]
        switch value {
        case .string(let text): words = text.bytewise.split(on: " ", maxSplits: mostScopes)
        case .array(let elements): words = elements.prefix(mostScopes + 1).compactMap { $0.string?[...] }
        default: return nil
        }
        guard words.count <= mostScopes else {
            throw Problem(message: "the answer's scope has more than \(mostScopes) words")
        }
        return words.map { ServerText.cleaned($0, limit: 200) }
    }
}

/// Lifetimes as servers write them.
enum LifetimeMember {
    /// Ten years: nothing we compute with them overflows, and no clock runs that long.
    static let longest: Duration = .seconds(10 * 365 * 86_400)

    /// A number, or a number in a string, in whole seconds; a negative one becomes 0, an absurd one
    /// ``longest``.
    ///
    /// Anything else counts as missing: a token, perhaps with a rotated refresh token beside it, is not thrown
    /// away for a lifetime nobody can read.
    static func read(_ value: JSONValue?) -> Duration? {
        let seconds: Double? =
            switch value {
            case .number: value?.double
            case .string(let text): JSONNumber.double(text)
            default: nil
            }
        guard let seconds, !seconds.isNaN else { return nil }
        guard seconds > 0 else { return .zero }
        guard seconds < Double(longest.wholeSeconds) else { return longest }
        return .seconds(Int64(seconds))
    }
}

/// Numbers inside strings.
enum JSONNumber {
    /// The value of `text` if it is a number by JSON's grammar.
    static func double(_ text: String) -> Double? {
        guard let value = try? JSONValue(parsing: text.utf8) else { return nil }
        return value.double
    }
}
