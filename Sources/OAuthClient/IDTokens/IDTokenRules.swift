// SPDX-License-Identifier: MIT

import Crypto
import Text
import TokenCore

/// What an ID token must say (OIDC Core §3.1.3.7, §12.2); its signature is checked elsewhere.
struct IDTokenRules: Sendable {
    /// Clocks of servers and laptops differ by this much without anybody noticing.
    static let skew: Duration = .seconds(120)

    /// `nil`: the configuration names none, so any is accepted.
    var issuer: String?
    var clientID: String
    /// The nonce of our authorization request, which must come back.
    var nonce: String?
    /// Algorithms accepted in the header.
    var algorithms: Set<SignatureAlgorithm>
    /// `max_age` of our authorization request.
    var maximumAge: Duration?

    /// Why an ID token is not believed.
    enum Problem: Error, Equatable {
        case malformed
        case algorithm
        case criticalHeader
        case issuer
        case audience
        case authorizedParty
        case expired
        case issuedInFuture
        case notYetValid
        case nonce
        case authenticationTime
        case subject
        case accessTokenHash
        case signature
        /// A claim of a refreshed ID token that must stay the same has changed.
        case changed(String)

        var message: String {
            switch self {
            case .malformed: "the ID token is malformed"
            case .algorithm: "the ID token's signature algorithm is not accepted"
            case .criticalHeader: "the ID token demands an extension we do not know"
            case .issuer: "the ID token is of another issuer"
            case .audience: "the ID token is for another client"
            case .authorizedParty: "the ID token was issued to another party"
            case .expired: "the ID token has expired: is this computer's clock right?"
            case .issuedInFuture: "the ID token was issued in the future: is this computer's clock right?"
            case .notYetValid: "the ID token is not valid yet: is this computer's clock right?"
            case .nonce: "the ID token does not belong to this login"
            case .authenticationTime: "the server did not ask the person again, as max_age demands"
            case .subject: "the ID token names no subject"
            case .accessTokenHash: "the ID token does not belong to the access token"
            case .signature: "the ID token's signature is not the issuer's"
            case .changed(let claim): "the ID token of the refresh has another \(claim) than the login's"
            }
        }
    }

    /// The algorithm of `token`, if it is one we accept.
    func algorithm(of token: JWTParts) throws(Problem) -> SignatureAlgorithm {
        guard token.header["crit"] == nil else { throw .criticalHeader }
        guard let name = token.header["alg"]?.string,
            let algorithm = SignatureAlgorithm(named: name.bytewise), algorithms.contains(algorithm)
        else { throw .algorithm }
        return algorithm
    }

    /// Checks every claim but the times.
    func checkBinding(_ token: JWTParts, accessToken: String) throws(Problem) {
        let claims = token.claims
        guard let named = claims["iss"]?.string, issuer.map({ $0.bytewise == named.bytewise }) ?? true else {
            throw .issuer
        }
        // Only our own client is a trusted audience.
        guard let audiences = claims.audiences, audiences.contains(clientID.bytewise) else { throw .audience }
        let party = claims["azp"]
        if party != nil, party != .string(clientID) { throw .authorizedParty }
        guard audiences.count == 1 || party == .string(clientID) else { throw .audience }
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count) else {
            throw .subject
        }
        if let nonce, claims["nonce"] != .string(nonce) { throw .nonce }
        try checkHash(claims["at_hash"], of: accessToken, algorithm: try algorithm(of: token))
    }

    /// Checks `exp`, `iat` and `nbf`.
    func checkTimes(_ token: JWTParts, at now: WallTime) throws(Problem) {
        guard let expiry = token.claims.seconds("exp"), let issued = token.claims.seconds("iat") else {
            throw .malformed
        }
        let late = now + IDTokenRules.skew
        guard WallTime(secondsSince1970: expiry) + IDTokenRules.skew > now else { throw .expired }
        guard WallTime(secondsSince1970: issued) <= late else { throw .issuedInFuture }
        try checkAuthenticationTime(token, at: now)
        guard let start = token.claims["nbf"] else { return }
        guard start.double != nil, let start = token.claims.seconds("nbf") else { throw .malformed }
        guard WallTime(secondsSince1970: start) <= late else { throw .notYetValid }
    }

    /// OIDC Core §3.1.3.7 (13); a server that does not say when shows nothing.
    private func checkAuthenticationTime(_ token: JWTParts, at now: WallTime) throws(Problem) {
        guard let maximumAge, let time = token.claims.seconds("auth_time") else { return }
        guard now - WallTime(secondsSince1970: time) <= maximumAge + IDTokenRules.skew else {
            throw .authenticationTime
        }
    }

    /// OIDC Core §12.2: the new token is about the same person at the same issuer.
    ///
    /// Only a claim that both tokens have and that differs shows that it is not; a token without the claim is
    /// merely useless.
    static func checkIdentity(_ token: JWTParts, as original: JWTParts) throws(Problem) {
        for (claim, word) in [("iss", "issuer"), ("sub", "subject")] {
            guard let now = token.claims[claim]?.string, let before = original.claims[claim]?.string else {
                continue
            }
            guard now.bytewise == before.bytewise else { throw .changed(word) }
        }
    }

    /// OIDC Core §12.2: the other claims that must stay; `auth_time` and `nonce` need not be repeated.
    static func checkContinuity(_ token: JWTParts, with original: JWTParts) throws(Problem) {
        guard let audiences = token.claims.audiences, let before = original.claims.audiences,
            Set(audiences).isSuperset(of: before)
        else { throw .changed("audience") }
        if let nonce = token.claims["nonce"], nonce != original.claims["nonce"] { throw .changed("nonce") }
        if let time = token.claims["auth_time"], let before = original.claims["auth_time"], time != before {
            throw .changed("auth_time")
        }
    }

    /// OIDC Core §3.1.3.8: the left half of the hash that belongs to the signature algorithm.
    private func checkHash(
        _ value: JSONValue?,
        of accessToken: String,
        algorithm: SignatureAlgorithm
    ) throws(Problem) {
        guard let value, value != .null else { return }
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
