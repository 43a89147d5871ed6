// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A successful token response, parsed but not yet validated (RFC 6749 §5.1).
///
/// - Entry points of this folder: ``TokenResponseBody`` for a body, ``FailureClassification`` for a
///   response without tokens, ``RedactingServer`` for all texts of a server.
/// - May not: quote a token in an error, or use a token with characters that a header cannot carry.
struct TokenResponse: Equatable, Sendable {
    var accessToken: String
    /// The authentication scheme of the token, `Bearer` or `DPoP`.
    var tokenType: String
    /// The server's name for the type, if it differs from ``tokenType``.
    var serverTokenType: String?
    var refreshToken: String?
    var idToken: String?
    /// The reason the ID token cannot be read, or `nil` if it can or there is none.
    var idTokenProblem: String?
    var scope: [String]?
    /// The lifetime, or `nil` if the response states none or an impossible one.
    var expiresIn: Duration?
    /// The expiry time, if the response states it instead of ``expiresIn``.
    var expiresAt: WallTime?
    var refreshExpiresIn: Duration?
    /// The `Date` of the response, if the caller has set it.
    var serverTime: WallTime?
    /// The members that the session keeps and shows (``ServerDialect/keptMembers``).
    var kept: [String: String] = [:]
    /// The warnings for the user about the response.
    var remarks: [GrantWarning] = []

    /// The reason a body is not a token response.
    ///
    /// The message quotes at most the token type from the body.
    struct Problem: Error, Equatable {
        var message: String
        /// The class `misbehaved`, or `misconfigured` if the server issues another kind of token than the
        /// session requires.
        var kind = FailureClass.misbehaved
        var remedy: Remedy?

        /// Converts the problem to a failure of `server`.
        func failure(of server: String) -> RefreshFailure {
            RefreshFailure(kind: kind, message: ServerText.cleaned("\(server): \(message)"), remedy: remedy)
        }
    }

    /// Reads the known members.
    ///
    /// Unknown members are ignored, and duplicate ones are rejected.
    ///
    /// - Parameters:
    ///   - reply: The body.
    ///   - isBound: Whether the request proved possession of a key. A token that is not bound to the key is
    ///     then rejected (RFC 9449 §5).
    ///   - isExchanged: Whether the response belongs to a token exchange, which may return a token of another
    ///     kind.
    ///   - dialect: The server's unit of lifetimes and separator of scopes.
    /// - Throws: The reason the body is not a token response.
    init(
        _ reply: TokenResponseBody,
        isBound: Bool = false,
        isExchanged: Bool = false,
        dialect: ServerDialect = ServerDialect()
    ) throws(Problem) {
        try self.init(reply.object, isBound: isBound, isExchanged: isExchanged, dialect: dialect)
        note(reply)
    }

    /// Reads the object alone, like ``init(_:isBound:isExchanged:dialect:)``.
    init(
        _ object: JSONObject,
        isBound: Bool = false,
        isExchanged: Bool = false,
        dialect: ServerDialect = ServerDialect()
    ) throws(Problem) {
        guard let accessToken = try TokenResponse.token("access_token", in: object) else {
            throw Problem(message: "the response has no access_token")
        }
        self.accessToken = accessToken
        refreshToken = try RefreshTokenMemberNames.standard.refreshToken(in: object)
        (idToken, idTokenProblem) = TokenResponse.idToken("id_token", in: object)
        tokenType = object["token_type"]?.string ?? "Bearer"
        if isExchanged { try readExchanged(object) }
        try setType(tokenType, isBound: isBound)
        scope = try TokenResponse.scope(object["scope"], separatedBy: dialect.scopeSeparator)
        setLifetime(object["expires_in"], in: dialect.lifetimeUnit)
        kept = object.shown(dialect.keptMembers)
        if expiresIn == nil { readEnd(object) }
        var members = RefreshTokenMemberNames.standard
        members.unit = dialect.lifetimeUnit
        refreshExpiresIn = members.lifetime(in: object)
    }

    /// Adds the warning about the body that the tokens come from, if it has a defect.
    mutating func note(_ reply: TokenResponseBody) {
        if let defect = reply.defect { remarks.append(.defect(defect, isSalvaged: reply.isSalvaged)) }
    }

    /// Reads the lifetime.
    ///
    /// An impossible lifetime is ignored, with a warning.
    mutating func setLifetime(_ value: JSONValue?, in unit: LifetimeUnit = .seconds) {
        let told = LifetimeParser.read(value, in: unit)
        expiresIn = told.flatMap(LifetimeParser.positive)
        if let told, expiresIn == nil {
            remarks.append(.lifetimeIgnored("a lifetime of \(told.wholeSeconds) s"))
        }
    }

    /// Reads the expiry under other names.
    ///
    /// `expires_at` is a time, and `expires` is a time or a lifetime.
    private mutating func readEnd(_ object: JSONObject) {
        for name in ["expires_at", "expires"] {
            guard let value = object[name] else { continue }
            if let time = LifetimeParser.time(value) {
                expiresAt = time
            } else if name == "expires" {
                setLifetime(value)
            }
            if expiresAt != nil || expiresIn != nil { return }
        }
    }

    /// Reads the members of a token exchange (RFC 8693 §2.2.1).
    ///
    /// A token that is not an access token has the type `N_A`, and its recipient decides how to send it.
    private mutating func readExchanged(_ object: JSONObject) throws(Problem) {
        if let issued = object["issued_token_type"]?.string, TokenType(written: issued) == .refreshToken {
            let message = "the access_token in the response is a refresh token"
            throw Problem(
                message: message,
                kind: .misconfigured,
                remedy: .set("requested_token_type = \"access_token\"")
            )
        }
        if tokenType.bytewise.lowercased == "n_a" { tokenType = "Bearer" }
    }

    /// Returns the ID token, or the reason it cannot be read.
    ///
    /// A session can work without an ID token, but not without the refresh token in the same response.
    static func idToken(_ member: String, in object: JSONObject) -> (token: String?, problem: String?) {
        do throws(Problem) {
            return (try token(member, in: object), nil)
        } catch {
            return (nil, error.message)
        }
    }

    /// The types of tokens that are useless without a proof, or are not access tokens.
    private static let unusableTypes: Set<ByteText> = ["dpop", "pop", "mac", "n_a"]

    /// Sets the type to `DPoP` if the token is bound to a key, or to `Bearer` if the server uses any other
    /// name.
    ///
    /// - Throws: An error if the token needs another proof than the session has.
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
            let remedy: Remedy? = given == "dpop" ? .set("dpop = true") : nil
            let message = "this session does not support the token_type \(shown) in the response"
            throw Problem(message: message, kind: .misconfigured, remedy: remedy)
        }
        throw Problem(
            message:
                "the token_type in the response is \(shown), not DPoP: the token is not bound to the key",
            kind: .misconfigured,
            remedy: .set("dpop = false, or enable DPoP for this client at the server")
        )
    }

    /// Returns the token in the member `name`, or `nil` if it is missing, `null` or empty.
    ///
    /// - Throws: An error if the token is not a string, or has characters that are not allowed in a header.
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
                throw Problem(message: "the \(name) in the response has invalid characters")
            }
            return text
        case .bool, .number, .array, .object:
            throw Problem(message: "the \(name) in the response is not a string")
        }
    }

    /// The maximum number of scopes: far more than any server grants, and few enough to keep, show and
    /// compare.
    static let maximumScopes = 500

    /// Reads a string with separators, or the array of strings that some vendors send.
    private static func scope(
        _ value: JSONValue?,
        separatedBy separator: ServerDialect.ScopeSeparator
    ) throws(Problem) -> [String]? {
        let words: [Substring]
        switch value {
        case .string(let text):
            // Servers that separate requested scopes by commas do so in responses, or not.
            words = text.utf8.split(maxSplits: maximumScopes) {
                $0 == UInt8(ascii: " ") || separator == .comma && $0 == UInt8(ascii: ",")
            }
            .map(Substring.init)
        case .array(let elements): words = elements.prefix(maximumScopes + 1).compactMap { $0.string?[...] }
        default: return nil
        }
        guard words.count <= maximumScopes else {
            throw Problem(message: "the response has more than \(maximumScopes) scopes")
        }
        return words.map { ServerText.cleaned($0, limit: 200) }
    }
}

extension GrantWarning {
    /// Returns the warning for an impossible lifetime or expiry, which is ignored.
    static func lifetimeIgnored(_ what: String) -> GrantWarning {
        GrantWarning(.lifetimeIgnored, "ignored \(what) in the server's latest token response")
    }
}
