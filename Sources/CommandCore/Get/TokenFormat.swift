// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// How `get` prints a token: one line, and in `header` and `curl` another for the proof of possession.
package enum TokenFormat: String, CaseIterable {
    /// The bare token.
    case token
    /// The agent's answer with `expires_at_rfc3339`, `issuer` and `account`.
    case json
    /// `Authorization: Bearer …`, for `curl -H @-`.
    case header
    /// `BEARER_TOKEN=…`, for a shell or an environment file (WLCG bearer token discovery).
    case env
    /// `Bearer …`, for programs that want the value of the header.
    case bearer
    /// `{"Authorization":"Bearer …"}`, for programs that take headers as JSON.
    case headersJSON = "headers-json"
    /// `machine … login … password …`, which is sent as Basic authentication.
    case netrc
    /// `header = "Authorization: Bearer …"`, for `curl -K -`.
    case curl
    /// The initial response of SASL XOAUTH2, in Base64.
    case saslXOAuth2 = "sasl-xoauth2"
    /// The initial response of SASL OAUTHBEARER, in Base64 (RFC 7628 §3.1).
    case saslOAuthBearer = "sasl-oauthbearer"

    /// Whether a proof of possession can be printed with the token.
    var hasPlaceForProof: Bool {
        [.json, .header, .curl].contains(self)
    }

    /// Whether a token that is bound to a key is useless in it: its readers know only the scheme Bearer.
    private var isForBearerOnly: Bool {
        [.bearer, .headersJSON, .netrc].contains(self)
    }

    /// Checks that user and host are given if the format needs them, and only if it names them.
    func check(_ place: TokenDestination) throws(AgentError) {
        switch self {
        case .saslXOAuth2, .saslOAuthBearer:
            guard let user = place.user, !user.isEmpty, user.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F })
            else { throw AgentError(.badRequest, "--format \(rawValue) needs --user") }
        case .netrc:
            guard let host = place.host.flatMap({ HostName($0) }), host.port == nil else {
                throw AgentError(.badRequest, "--format netrc needs --host, a name without a port")
            }
            guard place.user?.utf8.isVisibleWord != false else {
                throw AgentError(.badRequest, "--user for netrc must be visible ASCII and not empty")
            }
        case .token, .json, .header, .env, .bearer, .headersJSON, .curl:
            guard place.user == nil else {
                throw AgentError(
                    .badRequest,
                    "--user is only for netrc and the sasl formats, not for \(rawValue)"
                )
            }
        }
        guard place.host == nil || self == .netrc else {
            throw AgentError(.badRequest, "--host is only for netrc, not for \(rawValue)")
        }
    }

    /// The line for the agent's JSON answer, or two with a proof.
    ///
    /// `about` is the session's status, from which JSON takes issuer and account.
    func render(
        _ body: [UInt8],
        wantsProof: Bool,
        for place: TokenDestination,
        about: SessionMessage?
    ) throws(AgentError) -> [UInt8] {
        guard let answer = TokenMessage(parsing: body),
            let token = answer.accessToken ?? answer.idToken, token.utf8.isVisibleWord
        else { throw AgentError(.internal, "the agent's answer holds no token") }
        let proof = answer.proof
        guard proof?.utf8.isVisibleWord ?? !wantsProof else {
            throw AgentError(.internal, "the agent's answer holds no proof of possession")
        }
        let scheme = TokenOutputFormat.scheme(ofType: answer.tokenType)
        guard scheme != "DPoP" || !isForBearerOnly else {
            throw AgentError(
                .badRequest,
                "its tokens are bound to a key, and --format \(rawValue) has no place for the proof",
                session: answer.session,
                remedy: "use --dpop-url URL with --format header"
            )
        }
        if self == .json {
            var printed = PrintedTokenMessage(answer)
            printed.expiresAtText = answer.expiresAt.map(DurationPhrase.rfc3339)
            printed.issuer = about?.issuer
            printed.account = about?.account
            return TerminalText.ascii(printed.json) + [0x0A]
        }
        var text = line(token, scheme: scheme, place) + "\n"
        if wantsProof, let proof { text += line(proof: proof) + "\n" }
        return Array(text.utf8)
    }

    private func line(proof: String) -> String {
        self == .curl ? "header = \"DPoP: \(TokenFormat.quotable(proof))\"" : "DPoP: \(proof)"
    }

    private func line(_ token: String, scheme: String, _ place: TokenDestination) -> String {
        switch self {
        case .token, .json: token
        case .header: TokenFormat.line(token, scheme: scheme, as: .header)
        case .env: "BEARER_TOKEN=\(TokenFormat.shellWord(token))"
        case .curl: "header = \"Authorization: \(scheme) \(TokenFormat.quotable(token))\""
        case .bearer: TokenFormat.line(token, scheme: scheme, as: .bearer)
        case .headersJSON: (["Authorization": .string("\(scheme) \(token)")] as JSONValue).text
        case .netrc:
            "machine \(place.host ?? "") login \(TokenFormat.netrcWord(place.user ?? TokenDestination.commonUser)) "
                + "password \(TokenFormat.netrcWord(token))"
        case .saslXOAuth2:
            Base64.encoded("user=\(place.user ?? "")\u{1}auth=\(scheme) \(token)\u{1}\u{1}".utf8)
        case .saslOAuthBearer:
            Base64.encoded(
                "n,a=\(TokenFormat.saslName(place.user ?? "")),\u{1}auth=\(scheme) \(token)\u{1}\u{1}".utf8
            )
        }
    }

    private static func line(_ token: String, scheme: String, as form: TokenOutputFormat) -> String {
        let (before, after) = form.surroundings(scheme: scheme)
        return before + token + after
    }

    /// The text, in single quotes if a shell could interpret it; a `~` at the start is a home directory.
    private static func shellWord(_ text: String) -> String {
        if TokenOutputFormat.env.fits(text.utf8) { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
            + "'"
    }

    /// The text as it is if all readers of netrc agree on it, else in double quotes, which newer ones know.
    private static func netrcWord(_ text: String) -> String {
        text.utf8.allSatisfy { $0.isUsualInToken || $0 == UInt8(ascii: "@") } ? text : "\"\(quotable(text))\""
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

/// The host and the user that a token is for, in the formats that name them.
package struct TokenDestination: Equatable {
    /// For Basic authentication where nobody names a user: what GitLab, Gitea and others expect beside a token.
    package static let commonUser = "oauth2"

    /// The name of the machine, for netrc.
    package var host: String?
    /// The user name for a mail server or netrc; needed by the `sasl-` formats.
    package var user: String?

    package init(host: String? = nil, user: String? = nil) {
        self.host = host
        self.user = user
    }
}
