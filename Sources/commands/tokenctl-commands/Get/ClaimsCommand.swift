// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `claims`, which shows the claims of a token.
struct ClaimsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims",
        abstract: "Show the claims of a token that is a JWT.",
        discussion: "The signature is not verified, so do not base decisions on the claims."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Flag(name: .customLong("id-token"), help: "Show the ID token's claims instead.")
    var wantsIDToken = false

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let tokenRequest = TokenRequest(session: session.name, wantsIDToken: wantsIDToken)
        let answer: TokenMessage
        do {
            answer = try agent.endpoint.message(
                tokenRequest.request(plainText: false),
                timeout: tokenRequest.responseTimeout
            )
        } catch {
            throw error.about(session.name)
        }
        let kind = wantsIDToken ? "ID token" : "access token"
        guard let token = answer.accessToken ?? answer.idToken,
            let decoded = UnverifiedJWT(token)
        else { throw AgentError(.internal, "the \(kind) of \(session.name) is not a readable JWT") }
        try agent.wantsJSON ? printJSON(decoded) : printText(decoded, kind)
    }

    private func printJSON(_ token: UnverifiedJWT) throws(AgentError) {
        let value: JSONValue = ["verified": false, "header": token.header, "claims": token.claims]
        try StandardOutput.json(value)
    }

    private func printText(_ token: UnverifiedJWT, _ kind: String) throws(AgentError) {
        try StandardOutput.line("# \(kind) of \(session.name), NOT VERIFIED")
        let members = token.claims.object?.members ?? []
        let width = members.map { TerminalText.escaped($0.name).utf8.count }.max() ?? 0
        for member in members {
            let name = TextTable.padded(TerminalText.escaped(member.name), to: width)
            try StandardOutput.line(
                "\(name)  \(TerminalText.escaped(member.value.plainText))\(instant(member))"
            )
        }
    }

    /// Formats date and distance of a claim that is an instant (RFC 7519 §4.1), else an empty string.
    private func instant(_ member: JSONObject.Member) -> String {
        guard ["exp", "iat", "nbf", "auth_time"].contains(member.name), let seconds = member.value.double,
            abs(seconds) < 1e12
        else { return "" }
        let rounded = Int64(seconds)
        let away = DurationPhrase.relative(rounded - WallClock.seconds)
        return " (\(DurationPhrase.rfc3339(rounded)), \(away))"
    }
}

/// The readable parts of a JWT whose signature has not been checked (RFC 7519 §3).
struct UnverifiedJWT {
    let header: JSONValue
    let claims: JSONValue

    init?(_ token: String) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = UnverifiedJWT.object(parts[0]),
            let claims = UnverifiedJWT.object(parts[1])
        else { return nil }
        (self.header, self.claims) = (header, claims)
    }

    private static func object(_ part: Substring) -> JSONValue? {
        guard let bytes = Base64.urlDecoded(part.utf8), let value = try? JSONValue(parsing: bytes),
            value.object != nil
        else { return nil }
        return value
    }
}
