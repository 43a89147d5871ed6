// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The parameters of `GET …/token`.
struct TokenQuery: Equatable {
    var variant = TokenVariant.primary
    var minimumValidity: Duration?
    var timeout: Duration?
    var wantsIDToken = false
    /// Whether the caller tells at once when the token is refused.
    var reportsRefusals = false
    /// The request that the token will be sent with, if that needs a proof.
    var proof: ProofRequest?

    /// Most seconds a caller may ask for; keeps arithmetic far from its limits.
    private static let mostSeconds: Int64 = 1_000_000_000
    /// Bytes of all scopes together, in a query or a body: what fits into a request line.
    private static let longestScope = 4_096

    init(minimumValidity: Duration? = nil, timeout: Duration? = nil) {
        self.minimumValidity = minimumValidity
        self.timeout = timeout
    }

    /// Reads a query; unknown, repeated or malformed parameters are refused, so that a typing error is not
    /// silently another request.
    init(_ query: some StringProtocol) throws(RequestFailure) {
        guard let parameters = RequestTarget.parameters(of: query) else { throw .queryNotEncoded }
        try self.init(parameters)
    }

    /// Reads the parameters of a query.
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
                throw RequestFailure(code: .badRequest, message: "There is no such query parameter.")
            }
        }
        variant = TokenVariant(scopes: scopes, audience: audience)
        self.proof = try proof.demand(forIDToken: wantsIDToken)
    }

    private static func isYes(_ text: String, of name: String) throws(RequestFailure) -> Bool {
        switch text {
        case "true": return true
        case "false": return false
        default: throw RequestFailure(code: .badRequest, message: "\(name) is true or false.")
        }
    }

    private static func seconds(_ text: String, of name: String) throws(RequestFailure) -> Duration {
        guard let seconds = Int64(text), (0...mostSeconds).contains(seconds) else {
            let message = "\(name) is a whole number of seconds, 0 to \(mostSeconds)."
            throw RequestFailure(code: .badRequest, message: message)
        }
        return .seconds(seconds)
    }

    /// Scope tokens of printable ASCII without quotes and backslashes (RFC 6749 §3.3).
    static func scopes(_ text: String) throws(RequestFailure) -> [String] {
        guard text.utf8.count <= longestScope else {
            throw RequestFailure(code: .badRequest, message: "scope has more than \(longestScope) bytes.")
        }
        let scopes = text.bytewise.split(on: " ").map(String.init)
        let isValid = scopes.allSatisfy { scope in
            scope.utf8.allSatisfy(\.isNQChar)
        }
        guard isValid else {
            throw RequestFailure(
                code: .badRequest,
                message: "A scope holds characters that scopes cannot have."
            )
        }
        return scopes
    }

    static func audience(_ text: String) throws(RequestFailure) -> String? {
        guard text.utf8.allSatisfy(\.isVisibleASCII) else {
            throw RequestFailure(code: .badRequest, message: "The audience is not printable ASCII.")
        }
        return text.isEmpty ? nil : text
    }

    private static func isIDToken(_ text: String) throws(RequestFailure) -> Bool {
        switch text.bytewise {
        case "id": return true
        case "access": return false
        default: throw RequestFailure(code: .badRequest, message: "kind is access or id.")
        }
    }
}
