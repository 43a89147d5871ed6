// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// A provider: the settings that are the same for all its clients, from its file.
///
/// `tokenagent` reads the files, so that the agent and this program see the same.
struct Provider: Sendable {
    let message: ProviderMessage
    /// The keys of the session, in which the user's values replace `{name}`.
    private var session: JSONObject
    /// The user's values by name.
    private(set) var given: [NamedValue] = []

    init(_ message: ProviderMessage) {
        self.message = message
        session = message.session ?? JSONObject()
    }

    var name: String { message.name ?? "" }
    var title: String { message.title ?? name }
    /// The values that only the user knows.
    var values: [ProviderValueMessage] { message.values ?? [] }
    /// The keys that a session of this provider sets itself, besides those with an option of their own.
    var ownKeys: [String] {
        let options = ["client_id", "from", "assertion_key_file", "key_file", "service_account_file"]
        return (message.requiredKeys ?? []).filter { !options.contains($0) }
    }
    /// Whether tokens are made from those of another session.
    var hasSource: Bool { message.requiredKeys?.contains("from") ?? false }
    /// The URL of the documentation of these settings, or `nil` if the file names none.
    var source: String? { message.facts?.compactMap { $0.sources?.first }.first }
    /// The client to register, as a noun phrase that can follow "Register".
    var client: String { message.client ?? "a client with the redirect URI http://127.0.0.1/callback" }
    var hasSecret: Bool { message.clientSecret == "required" && value(of: "client_secret") == nil }
    /// The ID of a client that everybody may use, or `nil` if users register their own.
    var clientID: String? { text("client_id") }

    var kind: NewSessionServerKind { text("kind").flatMap { NewSessionServerKind(rawValue: $0) } ?? .oidc }
    var flow: LoginCommand.Flow? { text("flow").flatMap { LoginCommand.Flow(rawValue: $0) } }
    var scopes: [String]? { texts("scopes") }
    var hosts: [String] { texts("hosts") ?? [] }
    /// Whether the tokens are for the issuer's own server, which differs between installations.
    var isForIssuersHost: Bool {
        guard let hosts = unfilled("hosts")?.array?.compactMap(\.string), let first = hosts.first
        else {
            return false
        }
        return unfilled("issuer")?.string?.bytewise.contains("//\(first)".bytewise) == true
    }

    var redirectPort: Int? { value(of: "redirect_port")?.integer.flatMap { Int(exactly: $0) } }
    var region: String? { text("region") }

    /// The issuer, access portal or user pool, or `nil` if a value is missing or there is none.
    var issuer: String? {
        switch kind {
        case .awsSSO: return text("start_url")
        case .cognito:
            guard let region, let pool = text("user_pool_id") else { return nil }
            return "https://cognito-idp.\(region).amazonaws.com/\(pool)"
        case .oidc, .oauth2, .json, .awsRole, .githubApp: return text("issuer")
        }
    }

    /// The keys of the session, in which the user's values are filled in.
    var keys: [JSONObject.Member] { session.members }

    /// The endpoints of a provider without discovery.
    var endpoints: [ServerEndpointSetting] {
        session.members.compactMap { member in
            guard member.name.hasSuffix("_endpoint") || member.name == "jwks_uri" else { return nil }
            return text(member.name).map { ServerEndpointSetting(member.name, $0) }
        }
    }

    /// Returns whether the provider sets `line` itself, so that the session need not.
    func sets(_ line: DraftLine) -> Bool {
        switch (line.key, session[line.key]) {
        case ("kind", nil): line.value == SessionDraft.quoted(NewSessionServerKind.oidc.rawValue)
        // The browser is the first choice everywhere.
        case ("flow", nil): line.value == SessionDraft.quoted(LoginCommand.Flow.browser.rawValue)
        case (_, let value?): DraftLine(line.key, value)?.value == line.value
        case (_, nil): false
        }
    }

    /// Puts the user's values in place of `{name}`.
    mutating func fill(_ given: [NamedValue]) {
        self.given = given
        session = session.members.reduce(into: JSONObject()) { filled, member in
            filled[member.name] = member.value.filled(given)
        }
    }

    /// The text of `key`, or `nil` if it is not set or a value is missing in it.
    private func text(_ key: String) -> String? {
        session[key]?.string.flatMap { $0.utf8.contains(UInt8(ascii: "{")) ? nil : $0 }
    }

    private func value(of key: String) -> JSONValue? { session[key] }

    /// The value of `key` as in the file, with `{name}` for the user's values.
    private func unfilled(_ key: String) -> JSONValue? { message.session?[key] }

    private func texts(_ key: String) -> [String]? {
        session[key]?.array?.compactMap(\.string).filter { !$0.utf8.contains(UInt8(ascii: "{")) }
    }
}

extension Provider {
    /// Makes `tokenagent` read provider files, all or the one of `name`.
    ///
    /// - Parameters:
    ///   - name: The provider, or `nil` for all.
    ///   - configuration: The configuration file of the agent, next to which the user's own provider files are, or `nil`
    ///     for that of this user.
    /// - Returns: The providers, and the errors of files that cannot be used.
    /// - Throws: ``AgentError`` if `tokenagent` is not installed.
    static func list(
        _ name: String? = nil,
        beside configuration: String? = nil
    ) throws(AgentError) -> ProviderListMessage {
        let run = try TokenagentRun(
            ["--list-providers"] + (configuration.map { ["--agent-config", $0] } ?? [])
                + (name.map { ["--provider", $0] } ?? [])
        )
        guard let list = run.answer.flatMap({ ProviderListMessage($0) }) else { throw run.failure }
        return list
    }

    /// Returns the provider `name`, or `nil` if it has no file.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` and the errors of the file if it cannot be used.
    static func ifKnown(_ name: String, beside configuration: String? = nil) throws(AgentError) -> Provider? {
        let list = try list(name, beside: configuration)
        let problems = list.problems ?? []
        guard problems.isEmpty else {
            let complaints = problems.map { ConfigurationReport.complaint($0, in: "") }
            throw AgentError(.misconfigured, complaints.joined(separator: "; "))
        }
        return list.providers?.first.map(Provider.init(_:))
    }

    /// Returns the provider `name`.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if it has no file, or as ``ifKnown(_:beside:)``.
    static func named(_ name: String, beside configuration: String? = nil) throws(AgentError) -> Provider {
        if let provider = try ifKnown(name, beside: configuration) { return provider }
        let all = try list(beside: configuration).providers ?? []
        let nearest = WordSuggestion.question(about: name, among: all.compactMap(\.name))
        throw AgentError(
            .badRequest,
            "no provider is named \"\(name)\"\(nearest)",
            remedy: .run("tokenctl providers")
        )
    }
}

extension JSONValue {
    /// Returns the value with the user's values in place of `{name}`.
    fileprivate func filled(_ given: [NamedValue]) -> JSONValue {
        if let text = string {
            return .string(
                PlaceholderText.filled(text) { name in
                    given.last { $0.name.bytewise == name.bytewise }?.value
                }
                .text
            )
        }
        return array.map { .array($0.map { $0.filled(given) }) } ?? self
    }
}

extension DraftLine {
    /// Creates a line with a JSON value, or returns `nil` for `null` and an empty array.
    init?(_ key: String, _ value: JSONValue) {
        if let text = value.string {
            self.init(key, text)
        } else if let elements = value.array {
            guard !elements.isEmpty else { return nil }
            self.init(key: key, value: "[" + elements.map(DraftLine.text).joined(separator: ", ") + "]")
        } else if let object = value.object {
            let members = object.members.compactMap { DraftLine($0.name, $0.value) }
            let texts = members.map { "\(SessionDraft.key($0.key)) = \($0.value)" }
            self.init(key: key, value: "{ " + texts.joined(separator: ", ") + " }")
        } else if let text = value.literal ?? value.bool.map({ "\($0)" }) {
            self.init(key: key, value: text)
        } else {
            return nil
        }
    }

    /// Returns the text of `value` in TOML, or in JSON if it is one that no line can have.
    static func text(of value: JSONValue) -> String { DraftLine("", value)?.value ?? value.text }
}

/// An endpoint that is set in the configuration.
struct ServerEndpointSetting: Equatable, Sendable {
    /// The key in the configuration.
    let key: String
    let address: String

    init(_ key: String, _ address: String) {
        self.key = key
        self.address = address
    }
}

/// The values of `kind` that `tokenctl add` can write.
enum NewSessionServerKind: String, CaseIterable, ExpressibleByArgument {
    case oidc
    case oauth2
    case json
    case cognito
    case awsRole = "aws_role"
    case awsSSO = "aws_sso"
    case githubApp = "github_app"

    /// Whether tokens are issued to a client that is registered first.
    var hasClients: Bool { isStandard || self == .cognito }

    /// Whether the address of an issuer, pool or portal identifies the server.
    var hasIssuer: Bool { self == .oidc || self == .cognito || self == .awsSSO }

    /// Whether the server is a standard one, with scopes and possibly token exchange (RFC 8693).
    var isStandard: Bool { self == .oidc || self == .oauth2 }

    /// Whether an AWS region identifies the server.
    var hasRegion: Bool { self == .awsRole || self == .awsSSO }
}
