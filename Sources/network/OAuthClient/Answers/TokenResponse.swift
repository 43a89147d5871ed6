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
    /// The lifetime if neither the response nor the token states one.
    var assumedLifetime: Duration?
    var refreshExpiresIn: Duration?
    /// The `Date` of the response, if the caller has set it.
    var serverTime: WallTime?
    /// The members that the session keeps and shows (``TokenResponseFormat/keptMembers``).
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

    /// Reads the known members of `object`, which is the one in the envelope of the response.
    ///
    /// Unknown members are ignored, and duplicate ones are rejected.
    ///
    /// - Parameters:
    ///   - object: The object with the tokens.
    ///   - format: The names and units of its members.
    ///   - isBound: Whether the request proved possession of a key. A token that is not bound to the key is
    ///     then rejected (RFC 9449 §5).
    ///   - isExchanged: Whether the response belongs to a token exchange, which may return a token of another
    ///     kind.
    /// - Throws: The reason the object is not a token response.
    init(
        _ object: JSONObject,
        _ format: TokenResponseFormat = TokenResponseFormat(),
        isBound: Bool = false,
        isExchanged: Bool = false
    ) throws(Problem) {
        let names = format.names
        guard let accessToken = try TokenResponse.token(names.accessToken, in: object) else {
            throw Problem(message: "the response has no \(names.accessToken)")
        }
        self.accessToken = accessToken
        refreshToken = try format.refreshToken(in: object)
        if let name = names.idToken { (idToken, idTokenProblem) = TokenResponse.idToken(name, in: object) }
        tokenType = names.tokenType.flatMap { object[$0]?.string } ?? "Bearer"
        if isExchanged { try readExchanged(object) }
        try setType(tokenType, isBound: isBound)
        scope = try names.scope.flatMap { name throws(Problem) in
            try TokenResponse.scope(object[name], separatedBy: format.scopeSeparator)
        }
        readLifetime(object, format)
        refreshExpiresIn = format.refreshLifetime(in: object)
    }

    /// Adds the warning about the body that the tokens come from, if it has a defect.
    mutating func note(_ reply: TokenResponseBody) {
        if let defect = reply.defect { remarks.append(.defect(defect, isSalvaged: reply.isSalvaged)) }
    }

    /// Reads the lifetime or the expiry, or uses the lifetime that `format` assumes if there is neither.
    private mutating func readLifetime(_ object: JSONObject, _ format: TokenResponseFormat) {
        let value = object[format.names.expiresIn]
        if format.zeroMeansNever, let value, ["0", "\"0\""].contains(value.text) { return }
        setLifetime(value, in: format.lifetimeUnit)
        for name in format.names.expiry where expiresIn == nil && expiresAt == nil {
            guard let value = object[name] else { continue }
            expiresAt = LifetimeParser.time(value)
            // `expires` is a time or a lifetime.
            if expiresAt == nil, name == "expires" { setLifetime(value) }
        }
        assumedLifetime = format.assumedLifetime
    }

    /// Reads a lifetime.
    ///
    /// An impossible lifetime is ignored, with a warning.
    private mutating func setLifetime(_ value: JSONValue?, in unit: LifetimeUnit = .seconds) {
        let told = LifetimeParser.read(value, in: unit)
        expiresIn = told.flatMap(LifetimeParser.positive)
        if let told, expiresIn == nil {
            remarks.append(.lifetimeIgnored("a lifetime of \(told.wholeSeconds) s"))
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
        separatedBy separator: TokenResponseFormat.ScopeSeparator
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
