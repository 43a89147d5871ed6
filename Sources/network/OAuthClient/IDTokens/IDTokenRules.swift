// SPDX-License-Identifier: MIT

import Crypto
import ServerSettings
import Text
import TokenCore

/// The rules for the claims of an ID token (OIDC Core §3.1.3.7, §12.2).
///
/// The signature is verified elsewhere.
struct IDTokenRules: Sendable {
    /// The accepted clock difference.
    ///
    /// Clocks of servers and laptops differ by this much without anybody noticing.
    static let skew: Duration = .seconds(300)
    /// The time by which the user may have authenticated before ``maximumAge``.
    static let ageSkew: Duration = .seconds(120)

    /// The required issuer, or `nil` if the configuration names none and any is accepted.
    var issuer: String?
    var clientID: String
    /// The nonce of the authorization request, which the token must repeat.
    var nonce: String?
    /// The algorithms accepted in the header.
    var algorithms: Set<SignatureAlgorithm>
    /// The `max_age` of the authorization request.
    var maximumAge: Duration?

    /// The reason an ID token is rejected.
    ///
    /// Texts from the token have not been made printable.
    enum Problem: Error, Equatable {
        case malformed
        /// The token has five parts (RFC 7516 §3.1).
        case encrypted
        /// A claim is missing or not a number.
        case time(String)
        case algorithm(String?, accepted: Set<SignatureAlgorithm>)
        case criticalHeader
        case issuer(String?, expected: String?)
        case audience([ByteText]?)
        case authorizedParty
        case expired(for: Duration)
        case issuedInFuture(by: Duration)
        case notYetValid(for: Duration)
        case nonce
        case authenticationTime
        case subject
        case accessTokenHash
        case signature(SignatureAlgorithm, key: String?)
        /// A claim of a refreshed ID token has changed but must not.
        case changed(String)

        var message: String {
            switch self {
            case .malformed: "the ID token is malformed"
            case .encrypted:
                "the ID token is encrypted, which is not supported"
            case .time(let claim): "the ID token has no valid \(claim)"
            case .algorithm(let name, let accepted): Problem.algorithmText(name, accepted)
            case .criticalHeader: "the ID token requires an unsupported extension (crit)"
            case .issuer(let name, let expected):
                "the ID token is from \(Problem.quoted(name)) (iss), not from \(Problem.quoted(expected))"
            case .audience(let audiences):
                "the ID token is for another client: its aud is \(Problem.quoted(audiences?.map(\.text).joined(separator: " ")))"
            case .authorizedParty: "the ID token was issued to another party (azp)"
            case .expired(let age):
                "the ID token expired \(Problem.phrase(age)) ago (exp)"
            case .issuedInFuture(let lead):
                "the ID token was issued \(Problem.phrase(lead)) in the future (iat)"
            case .notYetValid(let lead):
                "the ID token becomes valid in \(Problem.phrase(lead)) (nbf)"
            case .nonce: "the ID token does not belong to this login (nonce)"
            case .authenticationTime:
                "the server did not authenticate the user again, as max_age requires (auth_time)"
            case .subject: "the ID token names no subject (sub)"
            case .accessTokenHash: "the ID token does not belong to the access token (at_hash)"
            case .signature(let algorithm, let key):
                "the ID token's signature (\(algorithm.rawValue), \(Problem.named(key))) is not from the issuer's key"
            case .changed(let claim): "the refreshed ID token has a different \(claim) than the login's"
            }
        }

        /// The remedy, or `nil` if there is none.
        var remedy: Remedy? {
            switch self {
            case .expired, .issuedInFuture, .notYetValid: .set("the clock of this machine")
            case .malformed, .encrypted, .time, .algorithm, .criticalHeader, .issuer, .audience,
                .authorizedParty, .nonce, .authenticationTime, .subject, .accessTokenHash, .signature,
                .changed:
                nil
            }
        }

        /// Returns the message for an algorithm that is unknown here or not listed in the server's metadata.
        private static func algorithmText(_ name: String?, _ accepted: Set<SignatureAlgorithm>) -> String {
            let shown = quoted(name)
            guard let name, let algorithm = SignatureAlgorithm(named: name.bytewise) else {
                return "the ID token's signature algorithm \(shown) is not supported"
            }
            guard !algorithm.isSymmetric || accepted.contains(where: \.isSymmetric) else {
                return
                    "the ID token's algorithm \(shown) requires a client secret and a server that lists it"
            }
            let list = accepted.map(\.rawValue).sorted().joined(separator: " ")
            return
                "the ID token's algorithm \(shown) is not listed in the server's metadata (\(list))"
        }

        /// Returns the key's name for a message.
        static func named(_ name: String?) -> String { name.map { "key \(quoted($0))" } ?? "no key ID" }

        private static func phrase(_ duration: Duration) -> String {
            DurationPhrase.short(duration.wholeSeconds)
        }

        private static func quoted(_ text: String?) -> String {
            text.map { "\"\(ServerText.cleaned($0, limit: 150))\"" } ?? "none"
        }
    }

    /// Splits `token` into its parts.
    ///
    /// - Throws: `encrypted` or `malformed` if the token is not a signed JWT.
    static func parts(_ token: String) throws(Problem) -> JWTParts {
        if let parts = JWTParts(token) { return parts }
        throw token.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 4
            ? Problem.encrypted : Problem.malformed
    }

    /// Returns the algorithm of `token`.
    ///
    /// - Throws: The reason the header is not accepted.
    func algorithm(of token: JWTParts) throws(Problem) -> SignatureAlgorithm {
        guard token.header["crit"] == nil else { throw .criticalHeader }
        let name = token.header["alg"]?.string
        guard let algorithm = name.flatMap({ SignatureAlgorithm(named: $0.bytewise) }),
            algorithms.contains(algorithm)
        else { throw .algorithm(name, accepted: algorithms) }
        return algorithm
    }

    /// Checks every claim except the times.
    func checkBinding(_ token: JWTParts, accessToken: String) throws(Problem) {
        let claims = token.claims
        let tenant = claims["tid"]?.string ?? ""
        guard let named = claims["iss"]?.string,
            issuer.map({ IssuerNameRules.isName(named, of: $0, tenant: tenant) }) ?? true
        else { throw .issuer(claims["iss"]?.string, expected: issuer) }
        // Other audiences may be named too (OIDC Core with errata set 2, §3.1.3.7).
        let audiences = claims.audiences
        guard audiences?.contains(clientID.bytewise) == true else { throw .audience(audiences) }
        if let party = claims.stated("azp"), party != .string(clientID) { throw .authorizedParty }
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count) else {
            throw .subject
        }
        if let nonce, claims["nonce"] != .string(nonce) { throw .nonce }
        try checkHash(claims.stated("at_hash"), of: accessToken, algorithm: try algorithm(of: token))
    }

    /// Checks `exp`, `iat` and `nbf`, and `auth_time` if a maximum age was requested.
    func checkTimes(_ token: JWTParts, at now: WallTime) throws(Problem) {
        guard let expiry = token.claims.time("exp") else { throw .time("exp") }
        guard let issued = token.claims.time("iat") else { throw .time("iat") }
        let late = now + IDTokenRules.skew
        guard expiry + IDTokenRules.skew > now else { throw .expired(for: now - expiry) }
        guard issued <= late else { throw .issuedInFuture(by: issued - now) }
        try checkAuthenticationTime(token, at: now)
        guard token.claims.stated("nbf") != nil else { return }
        guard let start = token.claims.time("nbf") else { throw .time("nbf") }
        guard start <= late else { throw .notYetValid(for: start - now) }
    }

    /// Checks `auth_time` (OIDC Core §3.1.3.7 (13)).
    ///
    /// A token without it is accepted, because it proves nothing.
    private func checkAuthenticationTime(_ token: JWTParts, at now: WallTime) throws(Problem) {
        guard let maximumAge, let time = token.claims.seconds("auth_time") else { return }
        guard now - WallTime(secondsSince1970: time) <= maximumAge + IDTokenRules.ageSkew else {
            throw .authenticationTime
        }
    }

    /// Checks that the new token belongs to the same user at the same issuer (OIDC Core §12.2).
    ///
    /// Only a claim that is in both tokens and differs shows another identity. A token without the claim is
    /// only useless.
    static func checkIdentity(_ token: JWTParts, as original: JWTParts) throws(Problem) {
        for (claim, word) in [("iss", "issuer"), ("sub", "subject")] {
            guard let now = token.claims[claim]?.string, let before = original.claims[claim]?.string else {
                continue
            }
            guard now.bytewise == before.bytewise else { throw .changed(word) }
        }
    }

    /// Checks the other claims that must stay (OIDC Core §12.2).
    ///
    /// `auth_time` and `nonce` need not be repeated.
    static func checkContinuity(_ token: JWTParts, with original: JWTParts) throws(Problem) {
        guard let audiences = token.claims.audiences, let before = original.claims.audiences,
            Set(audiences).isSuperset(of: before)
        else { throw .changed("audience") }
        if let nonce = token.claims.stated("nonce"), nonce != original.claims["nonce"] {
            throw .changed("nonce")
        }
        if let time = token.claims.stated("auth_time"), let before = original.claims.stated("auth_time"),
            time != before
        {
            throw .changed("auth_time")
        }
    }

    /// Checks `at_hash`, the left half of the hash of the signature algorithm (OIDC Core §3.1.3.8).
    private func checkHash(
        _ value: JSONValue?,
        of accessToken: String,
        algorithm: SignatureAlgorithm
    ) throws(Problem) {
        guard let value else { return }
        let bytes = Array(accessToken.utf8)
        let hash: [UInt8] =
            switch algorithm {
            case .rs256, .ps256, .es256, .hs256: Array(SHA256.hash(data: bytes))
            case .rs384, .ps384, .es384, .hs384: Array(SHA384.hash(data: bytes))
            case .rs512, .ps512, .es512, .hs512, .edDSA: Array(SHA512.hash(data: bytes))
            }
        guard value == .string(Base64.urlEncoded(hash.prefix(hash.count / 2))) else { throw .accessTokenHash }
    }
}

extension JSONObject {
    /// Returns an optional claim.
    ///
    /// Some servers write `null` if they have none.
    func stated(_ claim: String) -> JSONValue? { self[claim].flatMap { $0 == .null ? nil : $0 } }

    fileprivate func time(_ claim: String) -> WallTime? {
        seconds(claim).map { WallTime(secondsSince1970: $0) }
    }
}
