// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The output formats of `get`: one line, or two in `header` and `curl` with a proof of possession.
package enum TokenFormat: String, CaseIterable {
    /// The bare token.
    case token
    /// The agent's response with `expires_at_rfc3339`, `issuer` and `account`.
    case json
    /// `Authorization: Bearer …`, for `curl -H @-`.
    case header
    /// `BEARER_TOKEN=…`, for a shell or an environment file (WLCG bearer token discovery).
    case env
    /// `Bearer …`, for programs that need only the value of the header.
    case bearer
    /// `{"Authorization":"Bearer …"}`, for programs that take headers as JSON.
    case headersJSON = "headers-json"
    /// `machine … login … password …`; clients send it as Basic authentication.
    case netrc
    /// `header = "Authorization: Bearer …"`, for `curl -K -`.
    case curl
    /// The initial response of SASL XOAUTH2, in Base64.
    case saslXOAuth2 = "sasl-xoauth2"
    /// The initial response of SASL OAUTHBEARER, in Base64 (RFC 7628 §3.1).
    case saslOAuthBearer = "sasl-oauthbearer"

    /// Whether the format can include a proof of possession.
    var hasPlaceForProof: Bool {
        [.json, .header, .curl].contains(self)
    }

    /// Whether readers of the format know only the scheme Bearer and so cannot use a token bound to a key.
    private var isForBearerOnly: Bool {
        [.bearer, .headersJSON, .netrc].contains(self)
    }

    /// Checks that user and host are present exactly where the format uses them.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest`.
    func check(_ place: HostAndUser) throws(AgentError) {
        switch self {
        case .saslXOAuth2, .saslOAuthBearer:
            guard let user = place.user, !user.isEmpty, user.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F })
            else { throw AgentError(.badRequest, "--format \(rawValue) requires --user") }
        case .netrc:
            guard let host = place.host.flatMap({ HostAndPort($0) }), host.port == nil else {
                throw AgentError(.badRequest, "--format netrc requires --host with a name without a port")
            }
            guard place.user?.utf8.isVisibleWord != false else {
                throw AgentError(.badRequest, "--user for netrc must be visible ASCII and not empty")
            }
        case .token, .json, .header, .env, .bearer, .headersJSON, .curl:
            guard place.user == nil else {
                throw AgentError(.badRequest, "--user cannot be combined with --format \(rawValue)")
            }
        }
        guard place.host == nil || self == .netrc else {
            throw AgentError(.badRequest, "--host cannot be combined with --format \(rawValue)")
        }
    }

    /// Formats the agent's JSON response as one line, or two with a proof.
    ///
    /// - Parameters:
    ///   - body: The agent's response.
    ///   - wantsProof: Whether the response must contain a proof of possession.
    ///   - place: The host and user for the formats that name them.
    ///   - about: The status of the session, from which the format `json` takes issuer and account.
    /// - Returns: The lines as bytes, each with a line feed.
    /// - Throws: ``AgentError`` with the code `internal` if the response has no token or proof, or
    ///   `badRequest` if the format cannot carry a token bound to a key.
    func render(
        _ body: [UInt8],
        wantsProof: Bool,
        for place: HostAndUser,
        about: SessionMessage?
    ) throws(AgentError) -> [UInt8] {
        guard let answer = TokenMessage(parsing: body),
            let token = answer.accessToken ?? answer.idToken, token.utf8.isVisibleWord
        else { throw AgentError(.internal, "the agent's response contains no token") }
        let proof = answer.proof
        guard proof?.utf8.isVisibleWord ?? !wantsProof else {
            throw AgentError(.internal, "the agent's response contains no proof of possession")
        }
        let scheme = TokenOutputFormat.scheme(ofType: answer.tokenType)
        guard scheme != "DPoP" || !isForBearerOnly else {
            throw AgentError(
                .badRequest,
                "--format \(rawValue) does not support tokens that are bound to a key",
                session: answer.session,
                remedy: .set("--dpop-url URL and --format header")
            )
        }
        if self == .json {
            var printed = GetOutputDetailMessage(answer)
            printed.expiresAtText = answer.expiresAt.map(DurationPhrase.rfc3339)
            printed.issuer = about?.issuer
            printed.account = about?.account
            printed.kept = about?.kept.flatMap { $0.members.isEmpty ? nil : $0 }
            return TerminalText.ascii(printed.json) + [0x0A]
        }
        var text = line(token, scheme: scheme, place) + "\n"
        if wantsProof, let proof { text += line(proof: proof) + "\n" }
        return Array(text.utf8)
    }

    private func line(proof: String) -> String {
        self == .curl ? "header = \"DPoP: \(TokenFormat.quotable(proof))\"" : "DPoP: \(proof)"
    }

    private func line(_ token: String, scheme: String, _ place: HostAndUser) -> String {
        switch self {
        case .token, .json: token
        case .header: TokenFormat.line(token, scheme: scheme, as: .header)
        case .env: "BEARER_TOKEN=\(TokenFormat.shellWord(token))"
        case .curl: "header = \"Authorization: \(scheme) \(TokenFormat.quotable(token))\""
        case .bearer: TokenFormat.line(token, scheme: scheme, as: .bearer)
        case .headersJSON: (["Authorization": .string("\(scheme) \(token)")] as JSONValue).text
        case .netrc:
            "machine \(place.host ?? "") login \(TokenFormat.netrcWord(place.user ?? HostAndUser.commonUser)) "
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

    /// Returns `text`, in single quotes if a shell could interpret it; a leading `~` would be a home
    /// directory.
    private static func shellWord(_ text: String) -> String {
        if TokenOutputFormat.env.fits(text.utf8) { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
            + "'"
    }

    /// Returns `text` unquoted if all readers of netrc accept it that way, else in double quotes.
    ///
    /// Only newer readers know double quotes.
    private static func netrcWord(_ text: String) -> String {
        text.utf8.allSatisfy { $0.isUsualInToken || $0 == UInt8(ascii: "@") } ? text : "\"\(quotable(text))\""
    }

    /// Escapes the characters that would end a quoted string in curl's configuration.
    private static func quotable(_ text: String) -> String {
        String(text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] })
    }

    /// Encodes `text` as a `saslname` (RFC 5801 §4).
    private static func saslName(_ text: String) -> String {
        text.split(separator: "=", omittingEmptySubsequences: false).joined(separator: "=3D")
            .split(separator: ",", omittingEmptySubsequences: false).joined(separator: "=2C")
    }
}

/// The host and user to name next to a token, in the formats that name them.
package struct HostAndUser: Equatable {
    /// The user name for Basic authentication without `--user`; GitLab, Gitea and others expect it with a
    /// token.
    package static let commonUser = "oauth2"

    /// The name of the machine, for netrc.
    package var host: String?
    /// The user name for a mail server or netrc; required by the `sasl-` formats.
    package var user: String?

    package init(host: String? = nil, user: String? = nil) {
        self.host = host
        self.user = user
    }
}
