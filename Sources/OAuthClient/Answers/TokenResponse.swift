// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// A successful token answer, read but not yet believed (RFC 6749 §5.1).
struct TokenResponse: Equatable, Sendable {
    var accessToken: String
    /// `Bearer` or `DPoP`: how the token is shown.
    var tokenType: String
    /// The server's own word for the type, where that is another.
    var serverTokenType: String?
    var refreshToken: String?
    var idToken: String?
    /// Why the answer's ID token cannot be read; `nil`: it can, or there is none.
    var idTokenProblem: String?
    var scope: [String]?
    /// `nil`: the answer does not say, or says something that no token lives.
    var expiresIn: Duration?
    /// When the token ends, if the answer says that in place of ``expiresIn``.
    var expiresAt: WallTime?
    var refreshExpiresIn: Duration?
    /// The `Date` of the answer, if the caller has set it.
    var serverTime: WallTime?
    /// What a person should know about the answer as such.
    var remarks: [GrantWarning] = []

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
    ///   - reply: the body.
    ///   - isBound: the request proved possession of a key: a token that anybody could use is refused (RFC
    ///     9449 §5).
    ///   - isExchanged: it answers an exchange, which may bring a token of another kind.
    ///   - unit: what its lifetimes are counted in.
    /// - Throws: why it is not a token answer.
    init(
        _ reply: TokenEndpointResponse,
        isBound: Bool = false,
        isExchanged: Bool = false,
        countedIn unit: LifetimeUnit = .seconds
    ) throws(Problem) {
        try self.init(reply.object, isBound: isBound, isExchanged: isExchanged, countedIn: unit)
        note(reply)
    }

    /// ``init(_:isBound:isExchanged:countedIn:)`` of the object alone.
    init(
        _ object: JSONObject,
        isBound: Bool = false,
        isExchanged: Bool = false,
        countedIn unit: LifetimeUnit = .seconds
    ) throws(Problem) {
        guard let accessToken = try TokenResponse.token("access_token", in: object) else {
            throw Problem(message: "the answer has no access_token")
        }
        self.accessToken = accessToken
        refreshToken = try RenewalMembers.standard.refreshToken(in: object)
        (idToken, idTokenProblem) = TokenResponse.idToken("id_token", in: object)
        tokenType = object["token_type"]?.string ?? "Bearer"
        if isExchanged { try readExchanged(object) }
        try setType(tokenType, isBound: isBound)
        scope = try TokenResponse.scope(object["scope"])
        setLifetime(object["expires_in"], in: unit)
        if expiresIn == nil { readEnd(object) }
        var members = RenewalMembers.standard
        members.unit = unit
        refreshExpiresIn = members.lifetime(in: object)
    }

    /// Takes over what is wrong with the body that the tokens come from.
    mutating func note(_ reply: TokenEndpointResponse) {
        if let defect = reply.defect { remarks.append(.defect(defect, isSalvaged: reply.isSalvaged)) }
    }

    /// Reads how long the token lives; what no token lives is ignored, and said.
    mutating func setLifetime(_ value: JSONValue?, in unit: LifetimeUnit = .seconds) {
        let told = LifetimeMember.read(value, in: unit)
        expiresIn = told.flatMap(LifetimeMember.positive)
        if let told, expiresIn == nil {
            remarks.append(.lifetimeIgnored("a lifetime of \(told.wholeSeconds) s"))
        }
    }

    /// Other names that servers have for the end: `expires_at` is a time, `expires` a time or a lifetime.
    private mutating func readEnd(_ object: JSONObject) {
        for name in ["expires_at", "expires"] {
            guard let value = object[name] else { continue }
            if let time = LifetimeMember.time(value) {
                expiresAt = time
            } else if name == "expires" {
                setLifetime(value)
            }
            if expiresAt != nil || expiresIn != nil { return }
        }
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

    /// Types of tokens that are worth nothing without a proof, or are no access tokens.
    private static let unusableTypes: Set<ByteText> = ["dpop", "pop", "mac", "n_a"]

    /// Takes the token as one of `Bearer`, whatever the server calls that, or of `DPoP` where it is bound to a key.
    ///
    /// - Throws: it needs another proof than the session has.
    mutating func setType(_ type: String, isBound: Bool = false) throws(Problem) {
        let given = type.bytewise.lowercased
        let shown = ServerText.cleaned(type, limit: 40)
        tokenType = isBound ? "DPoP" : "Bearer"
        guard given != tokenType.bytewise.lowercased else { return }
        guard isBound else {
            guard TokenResponse.unusableTypes.contains(given) else {
                serverTokenType = shown.utf8.isEmpty ? nil : shown
                return
            }
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
    static func token(
        _ name: String,
        in object: JSONObject,
        where isAllowed: (UInt8) -> Bool = \.isVisibleASCII
    ) throws(Problem) -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .string(let text) where text.utf8.isEmpty: return nil
        case .string(let text):
            guard text.utf8.allSatisfy(isAllowed) else {
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
    static func read(_ value: JSONValue?, in unit: LifetimeUnit = .seconds) -> Duration? {
        guard let number = number(value) else { return nil }
        let seconds = number / unit.perSecond
        guard seconds > 0 else { return .zero }
        guard seconds < Double(longest.wholeSeconds) else { return longest }
        return .seconds(Int64(seconds))
    }

    /// `lifetime`, or `nil` if no token that has just been given lives so long.
    static func positive(_ lifetime: Duration) -> Duration? {
        lifetime > .zero ? min(lifetime, longest) : nil
    }

    /// A moment: seconds or milliseconds since 1970, or a text with its zone (RFC 3339); `nil` for what may be a lifetime.
    static func time(_ value: JSONValue?) -> WallTime? {
        if let text = value?.string, let time = ZonedTime.read(text) { return time }
        // No lifetime has more seconds, and no moment since 2001 has fewer.
        guard let number = number(value), number >= 1e9, number < 1e14 else { return nil }
        return WallTime(secondsSince1970: Int64(number < 1e11 ? number : number / 1_000))
    }

    private static func number(_ value: JSONValue?) -> Double? {
        let number: Double? =
            switch value {
            case .number: value?.double
            case .string(let text): JSONNumber.double(text)
            default: nil
            }
        return number.flatMap { $0.isNaN ? nil : $0 }
    }
}

/// What lifetimes are counted in, spelled as in the configuration.
package enum LifetimeUnit: String, CaseIterable, Sendable {
    case seconds = "s"
    case milliseconds = "ms"

    fileprivate var perSecond: Double {
        switch self {
        case .seconds: 1
        case .milliseconds: 1_000
        }
    }
}

extension GrantWarning {
    /// The end that a response names is not believed.
    static func lifetimeIgnored(_ what: String) -> GrantWarning {
        GrantWarning(.lifetimeIgnored, "the server's latest token response names \(what), which is ignored")
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
