// SPDX-License-Identifier: MIT

import AgentProtocol
import StrictJSON

/// How `get` prints a token: exactly one line, and where it prints a proof of possession, another for that.
enum TokenFormat: String, CaseIterable {
    /// The bare token.
    case token
    /// The agent's answer with `expires_at_rfc3339`, `issuer` and `account`.
    case json
    /// `Authorization: Bearer …`, for `curl -H @-`.
    case header
    /// `BEARER_TOKEN=…`, for a shell or an environment file (WLCG bearer token discovery).
    case env
    /// `header = "Authorization: Bearer …"`, for `curl -K -`.
    case curl
    /// The initial response of SASL XOAUTH2, in Base64.
    case saslXOAuth2 = "sasl-xoauth2"
    /// The initial response of SASL OAUTHBEARER, in Base64 (RFC 7628 §3.1).
    case saslOAuthBearer = "sasl-oauthbearer"

    /// Whether a proof of possession can be printed with the token.
    var hasPlaceForProof: Bool {
        switch self {
        case .json, .header, .curl: true
        case .token, .env, .saslXOAuth2, .saslOAuthBearer: false
        }
    }

    /// Checks that a user is given exactly when the format names one.
    func check(user: String?) throws(AgentError) {
        switch self {
        case .saslXOAuth2, .saslOAuthBearer:
            guard let user, user.isEmpty == false, user.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
                throw AgentError(.badRequest, "--format \(rawValue) needs --user")
            }
        case .token, .json, .header, .env, .curl:
            guard user == nil else {
                throw AgentError(.badRequest, "--user is only for the sasl formats, not for \(rawValue)")
            }
        }
    }

    /// The line for the agent's JSON answer, or two with a proof.
    ///
    /// `about` is the session's status, from which JSON takes who issued the token, and to whom.
    func render(
        _ body: [UInt8],
        wantsProof: Bool,
        user: String?,
        about: JSONObject
    ) throws(AgentError) -> [UInt8] {
        guard var object = try? JSONValue(parsing: body).object,
            let token = TokenFormat.visible(object["access_token"] ?? object["id_token"])
        else { throw AgentError(.internal, "the agent's answer holds no token") }
        let proof = TokenFormat.visible(object["dpop_proof"])
        guard wantsProof == false || proof != nil else {
            throw AgentError(.internal, "the agent's answer holds no proof of possession")
        }
        if self == .json {
            if let expiry = object["expires_at"]?.integer {
                object["expires_at_rfc3339"] = .string(DurationPhrase.rfc3339(expiry))
            }
            for name in ["issuer", "account"] { object[name] = object[name] ?? about[name] }
            return TerminalText.ascii(.object(object)) + [0x0A]
        }
        var text = line(token, scheme: TokenFormat.scheme(object), user: user ?? "") + "\n"
        if wantsProof, let proof { text += line(proof: proof) + "\n" }
        return Array(text.utf8)
    }

    private func line(proof: String) -> String {
        self == .curl ? "header = \"DPoP: \(TokenFormat.quotable(proof))\"" : "DPoP: \(proof)"
    }

    /// The string, if it is of visible ASCII and not empty.
    private static func visible(_ value: JSONValue?) -> String? {
        guard let text = value?.string, text.isEmpty == false,
            text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
        else { return nil }
        return text
    }

    private func line(_ token: String, scheme: String, user: String) -> String {
        switch self {
        case .token, .json: token
        case .header: "Authorization: \(scheme) \(token)"
        case .env: "BEARER_TOKEN=\(TokenFormat.shellWord(token))"
        case .curl: "header = \"Authorization: \(scheme) \(TokenFormat.quotable(token))\""
        case .saslXOAuth2: Base64.encode("user=\(user)\u{1}auth=\(scheme) \(token)\u{1}\u{1}")
        case .saslOAuthBearer:
            Base64.encode("n,a=\(TokenFormat.saslName(user)),\u{1}auth=\(scheme) \(token)\u{1}\u{1}")
        }
    }

    /// The authentication scheme; token types are case-insensitive (RFC 6749 §5.1), some servers' schemes are not.
    private static func scheme(_ object: JSONObject) -> String {
        let type = object["token_type"]?.string ?? ""
        if type.lowercased() == "dpop" { return "DPoP" }
        guard type.lowercased() != "bearer",
            type.isEmpty == false,
            type.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { return "Bearer" }
        return type
    }

    /// As it is where no shell sees anything in it, else in single quotes.
    private static func shellWord(_ text: String) -> String {
        let isPlain = text.allSatisfy { $0.isLetter || $0.isNumber || "-._~+/=".contains($0) }
        if isPlain { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
            + "'"
    }

    /// With backslashes before what would end a quoted string of curl's configuration.
    private static func quotable(_ text: String) -> String {
        String(text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] })
    }

    /// A `saslname` (RFC 5801 §4).
    private static func saslName(_ text: String) -> String {
        text.split(separator: "=", omittingEmptySubsequences: false).joined(separator: "=3D")
            .split(separator: ",", omittingEmptySubsequences: false).joined(separator: "=2C")
    }
}
