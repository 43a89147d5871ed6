// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// Reads one `[session.NAME]`.
struct SessionReader {
    let name: SessionName
    var table: TableReader
    let home: String?
    /// There is a command that asks a person for confirmation.
    let canAskPerson: Bool

    /// The session, or `nil` with the reasons in the problem list.
    mutating func read(defaults: SessionPolicy) -> ConfiguredSession? {
        let written: ServerKind? = table.word("kind", ServerKind.self)
        guard let kind = table.has("kind") ? written : .oidc else { return nil }
        let isStandard = kind.isStandard
        let server = server(kind)
        let endpoints = kind == .oidc ? writtenEndpoints() : WrittenEndpoints()
        let issuer = isStandard ? table.string("issuer") : nil
        let clientID = clientID(kind)
        let secret = clientSecret()
        let authentication = isStandard ? authentication() : .automatic
        let scopes = isStandard ? scopes() : []
        let flow = flow(kind)
        let port = isStandard ? table.integer("redirect_port", in: 0...65_535) : nil
        let audience = isStandard ? table.string("audience") : nil
        let resources = isStandard ? resources() : []
        let trust = trust()
        let bindsTokens = isStandard ? table.boolean("dpop") : nil
        let prompt = isStandard ? prompt() : nil
        let reauthentication = reauthentication()
        let policy = policy(defaults, reauthentication, kind)
        let command = reauthenticationCommand(reauthentication)
        let hosts = hosts()
        let rules = rules()
        table.refuseUnknownKeys()
        guard let server, let clientID, table.problems.isEmpty else { return nil }
        let session = ConfiguredSession(
            name: name,
            server: server,
            endpoints: endpoints,
            issuer: issuer,
            clientID: clientID,
            clientSecret: secret,
            authentication: authentication,
            scopes: scopes,
            flow: flow,
            redirectPort: port ?? 0,
            audience: audience,
            resources: resources,
            trust: trust,
            bindsTokens: bindsTokens ?? false,
            prompt: prompt,
            policy: policy,
            hosts: hosts,
            reauthentication: reauthentication,
            reauthenticationCommand: command,
            rules: rules
        )
        return isAccepted(session) ? session : nil
    }

    /// Asks the client, which knows best what it cannot work with.
    private func isAccepted(_ session: ConfiguredSession) -> Bool {
        let profile = session.profile { _ in SecretID(rawValue: 0) }
        do throws(ProfileProblem) {
            try profile.validate()
            return true
        } catch {
            table.report(error.key, error.message)
            return false
        }
    }

    private mutating func clientID(_ kind: ServerKind) -> String? {
        // JSON endpoints know no clients.
        guard kind != .json else { return "" }
        let text = table.required(
            "client_id",
            "the name of the client registered at the authorization server"
        )
        guard let text, text.utf8.contains(where: { !(0x20...0x7E).contains($0) }) else { return text }
        table.report("client_id", "must be printable ASCII")
        return nil
    }

    /// The keys that name a client secret and are written.
    var writtenSecrets: [String] {
        ["client_secret", "client_secret_file", "client_secret_command"].filter { table.has($0) }
    }

    private mutating func clientSecret() -> ConfiguredSecret {
        let literal = table.string("client_secret")
        let file = table.path("client_secret_file", home: home)
        let command = table.command("client_secret_command")
        let written = writtenSecrets
        if written.count > 1 {
            table.report(written[1], "only one of \(written.joined(separator: ", ")) may be given")
        }
        if let command { return .command(command) }
        if let file { return .file(file) }
        return literal.map { .literal($0) } ?? .none
    }

    private mutating func authentication() -> ClientAuthenticationMethod {
        table.word("client_authentication", ClientAuthenticationMethod.self) ?? .automatic
    }

    private mutating func flow(_ kind: ServerKind) -> LoginFlow {
        let flow = table.word("flow", LoginFlow.self) ?? kind.defaultFlow
        if !kind.flows.contains(flow) {
            let words = kind.flows.map(\.rawValue).joined(separator: ", ")
            table.report("flow", "must be one of \(words) for kind \(kind.rawValue)")
        }
        if flow == .clientCredentials, writtenSecrets.isEmpty {
            table.report("flow", "client_credentials needs a client_secret_command or client_secret_file")
        }
        return flow
    }

    /// RFC 6749 §3.3 `scope-token`.
    private mutating func scopes() -> [String] {
        let scopes = table.strings("scopes") ?? []
        for scope in scopes {
            let isWord = scope.utf8.allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) && $0 != 0x5C }
            if !isWord { table.report("scopes", "\"\(scope)\" is not a scope; write one word per element") }
        }
        return scopes
    }

    /// `prompt`; empty: none is sent.
    private mutating func prompt() -> String? {
        guard case .string("") = table.value("prompt")?.content else { return table.string("prompt") }
        return ""
    }

    private mutating func resources() -> [String] {
        let resources = table.strings("resources") ?? []
        for resource in resources {
            let profile = ServerProfile(
                kind: .oidc(issuer: "https://localhost"),
                clientID: name.description,
                resources: [resource]
            )
            do throws(ProfileProblem) { try profile.validate() } catch {
                table.report("resources", "\"\(resource)\" \(error.message)")
            }
        }
        return resources
    }

    private mutating func trust() -> ServerTrust {
        let file = table.path("ca_file", home: home)
        let pins = table.strings("pins") ?? []
        for pin in pins where (try? ServerTrust(pins: [pin]).validate()) == nil {
            table.report("pins", "\"\(pin)\" must be \"sha256/\" and the base64 of the 32 bytes of SHA-256")
        }
        return ServerTrust(caFile: file, pins: pins)
    }

    private mutating func policy(
        _ defaults: SessionPolicy,
        _ reauthentication: [ReauthenticationStep],
        _ kind: ServerKind
    ) -> SessionPolicy {
        var policy = SessionPolicy(reading: &table, defaults: defaults)
        let range = Duration.seconds(1)...Duration.seconds(3650 * 86_400)
        policy.maximumSessionAge = table.duration("max_session_age", in: range, "1s to 3650d")
        policy.warnBefore = table.duration("warn_before", in: range, "1s to 3650d")
        policy.tokensOutliveLogin = kind.isStandard
        // "prompt" is what happens when nothing else is left.
        policy.silentLogins = reauthentication.compactMap { SilentLogin(rawValue: $0.rawValue) }
        return policy
    }
}
