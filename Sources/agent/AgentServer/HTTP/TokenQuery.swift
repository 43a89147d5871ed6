// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The parameters of `GET …/token`.
struct TokenQuery: Equatable {
    var variant = TokenVariant.primary
    var minimumValidity: Duration?
    var timeout: Duration?
    var wantsIDToken = false
    /// Whether the client reports a rejection of the token at once.
    var reportsRefusals = false
    /// The HTTP request that the token is for, if that requires a proof of possession.
    var proof: ProofRequest?

    /// The maximum number of seconds in a parameter, which keeps arithmetic far from overflow.
    private static let maximumSeconds: Int64 = 1_000_000_000
    /// The maximum number of bytes of all scopes together: those that fit into a request line.
    private static let maximumScopeLength = 4_096

    init(minimumValidity: Duration? = nil, timeout: Duration? = nil) {
        self.minimumValidity = minimumValidity
        self.timeout = timeout
    }

    /// Parses a query.
    ///
    /// Unknown, repeated or malformed parameters are rejected, so that a typing error does not become another
    /// request.
    ///
    /// - Throws: ``RequestFailure`` if a parameter is invalid.
    init(_ query: some StringProtocol) throws(RequestFailure) {
        guard let parameters = RequestTargetParser.parameters(of: query) else { throw .queryNotEncoded }
        try self.init(parameters)
    }

    /// Parses the parameters of a query.
    ///
    /// - Throws: ``RequestFailure`` if a parameter is invalid.
    init(_ parameters: [(name: ByteText, value: String)]) throws(RequestFailure) {
        var seen: Set<ByteText> = []
        var scopes: [String] = []
        var audience: String?
        var proof = ProofParameters()
        for (name, value) in parameters {
            guard seen.insert(name).inserted || name == "scope" else { throw .repeatedParameter }
            switch name {
            case "min_valid": minimumValidity = try Self.seconds(value, of: name.text)
            case "timeout": timeout = try Self.seconds(value, of: name.text)
            case "scope": scopes += try Self.scopes(value)
            case "audience": audience = try Self.audience(value)
            case "kind": wantsIDToken = try Self.isIDToken(value)
            case "reports": reportsRefusals = try Self.isYes(value, of: name.text)
            case "dpop_url": proof.target = try ProofParameters.target(value)
            case "dpop_method": proof.method = try ProofParameters.method(value)
            case "dpop_nonce": proof.nonce = try ProofParameters.nonce(value)
            default:
                throw RequestFailure(code: .badRequest, message: "unknown query parameter")
            }
        }
        variant = TokenVariant(scopes: scopes, audience: audience)
        self.proof = try proof.tokenRequest(forIDToken: wantsIDToken)
    }

    private static func isYes(_ text: String, of name: String) throws(RequestFailure) -> Bool {
        switch text {
        case "true": return true
        case "false": return false
        default: throw RequestFailure(code: .badRequest, message: "\(name) must be true or false")
        }
    }

    private static func seconds(_ text: String, of name: String) throws(RequestFailure) -> Duration {
        guard let seconds = Int64(text), (0...maximumSeconds).contains(seconds) else {
            let message = "\(name) must be a whole number of seconds from 0 to \(maximumSeconds)"
            throw RequestFailure(code: .badRequest, message: message)
        }
        return .seconds(seconds)
    }

    /// Returns the scopes in `text`, printable ASCII without quotes and backslashes (RFC 6749 §3.3).
    ///
    /// - Throws: ``RequestFailure`` if a scope is invalid or all are too long.
    static func scopes(_ text: String) throws(RequestFailure) -> [String] {
        guard text.utf8.count <= maximumScopeLength else {
            let message = "scope is longer than \(maximumScopeLength) bytes"
            throw RequestFailure(code: .badRequest, message: message)
        }
        let scopes = text.bytewise.split(on: " ").map(String.init)
        let isValid = scopes.allSatisfy { scope in
            scope.utf8.allSatisfy(\.isNQChar)
        }
        guard isValid else {
            throw RequestFailure(
                code: .badRequest,
                message: "scope has invalid characters"
            )
        }
        return scopes
    }

    static func audience(_ text: String) throws(RequestFailure) -> String? {
        guard text.utf8.allSatisfy(\.isVisibleASCII) else {
            throw RequestFailure(code: .badRequest, message: "audience must be printable ASCII")
        }
        return text.isEmpty ? nil : text
    }

    private static func isIDToken(_ text: String) throws(RequestFailure) -> Bool {
        switch text.bytewise {
        case "id": return true
        case "access": return false
        default: throw RequestFailure(code: .badRequest, message: "kind must be access or id")
        }
    }
}
