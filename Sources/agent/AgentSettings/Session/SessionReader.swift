// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import TOML
import Text
import TokenCore

/// A reader of a group of keys of a session.
protocol SessionPartReading {
    /// The session's table.
    var table: TableReader { get }
}

/// The parts of the configuration that affect every session.
struct CommonSessionSettings {
    /// The home directory, for `~/` at the beginning of paths.
    let home: String?
    /// Whether there is a command that asks the user for confirmation.
    let canAskPerson: Bool
    /// The policy set in `[agent]` for all sessions.
    let policy: SessionPolicy
    /// The forward proxy for servers of sessions that do not set one.
    let proxy: ProxySetting
    /// The role of this host in the fleet, or `nil` without `[fleet]`.
    let fleetRole: FleetRole?
    /// The `user_agent` set in `[agent]`.
    let userAgent: String?
    let providers: ProviderCatalogue
}

/// A reader of one `[session.NAME]`.
struct SessionReader {
    let name: SessionName
    var table: TableReader
    let surroundings: CommonSessionSettings
    var providerAge: ProviderAge?
    var home: String? { surroundings.home }

    /// Reads the session, or returns `nil` with the reasons in the problem list.
    mutating func read() -> ConfiguredSession? {
        guard addProvider() else { return nil }
        let written: ServerKind? = table.word("kind", ServerKind.self)
        guard let kind = table.has("kind") ? written : usualKind else { return nil }
        let isStandard = kind.isStandard
        let server = ServerProfile.Kind(kind, reading: &table, home: home)
        if kind == .oidc, table.has("resource") { refuseSecretsForUnknownIssuer() }
        let endpoints = kind == .oidc ? table.configuredEndpoints() : EndpointOverrides()
        let issuer = isStandard ? table.string("issuer") : nil
        let flow = flow(kind)
        let client = part(ClientReader(table, home: home)) { $0.read(kind, flow) }
        let scopes = isStandard ? table.strings("scopes") ?? [] : []
        let authorization = isStandard ? table.authorizationRequest() : AuthorizationRequestOptions()
        let audience = isStandard ? table.string("audience") : nil
        let resources = isStandard ? table.strings("resources") ?? [] : []
        let sources = sources(kind, server, flow)
        let trust = kind.isServer ? trust() : ServerTrust(proxy: surroundings.proxy)
        let userAgent = kind.isServer ? table.string("user_agent") ?? surroundings.userAgent : nil
        let responses = isStandard ? TokenResponseSettings(reading: &table) : TokenResponseSettings()
        let hasLogins = kind.hasLogins && flow.isLogin
        let hasNoninteractiveLogins = hasLogins && kind.hasNoninteractiveLogins
        let reauthentication = hasNoninteractiveLogins ? reauthentication() : []
        var policy = policy(reauthentication, kind, flow)
        // Tokens made from another session end with it.
        if !sources.all.isEmpty { policy.tokensOutliveLogin = false }
        let command = hasNoninteractiveLogins ? reauthenticationCommand(reauthentication) : []
        if !hasNoninteractiveLogins { refuseLoginKeys(exceptOfPeople: hasLogins) }
        let hosts = hosts()
        let rules = rules()
        table.refuseUnknownKeys()
        let session = ConfiguredSession(
            name: name,
            server: server ?? .oidc(issuer: ""),
            endpoints: endpoints,
            issuer: issuer,
            client: client ?? ConfiguredClient(id: ""),
            scopes: scopes,
            flow: flow,
            authorization: authorization,
            audience: audience,
            resources: resources,
            sources: sources,
            trust: trust,
            userAgent: userAgent,
            responses: responses,
            policy: policy,
            hosts: hosts,
            reauthentication: reauthentication,
            reauthenticationCommand: command,
            rules: rules,
            providerAge: providerAge,
            written: table.written
        )
        report(server, client, session, kind)
        return server != nil && client != nil && table.problems.isEmpty ? session : nil
    }

    /// Adds the keys of the session's provider that the session does not set itself.
    ///
    /// - Returns: `false` if the provider cannot be used.
    private mutating func addProvider() -> Bool {
        let isPreset = !table.has("provider")
        let key = isPreset ? "preset" : "provider"
        guard let provider = isPreset ? preset() : table.string("provider") else { return !table.has(key) }
        var values = table.table("provider_values")
        let given = values?.texts() ?? [:]
        let file: ProviderFile
        do throws(ConfigurationProblems) {
            guard let found = try surroundings.providers.file(named: provider) else {
                let nearest = WordSuggestion.question(about: provider, among: surroundings.providers.names)
                table.report(
                    key,
                    "no provider is named \"\(provider)\"\(nearest)",
                    .run("tokenctl providers")
                )
                return false
            }
            file = found
        } catch {
            for line in error.lines { table.report(key, "cannot be used: \(line)") }
            return false
        }
        var isComplete = true
        let keys = file.keys(with: given, besides: table.has) { name, message in
            isComplete = false
            let values = values ?? table
            values.problems.add("\(table.path).provider_values.\(name)", at: values.position, message)
        }
        table.provide(keys, at: table.position(of: key))
        providerAge = ProviderAge(file)
        return isComplete
    }

    /// Reports a resource without an issuer if the session has a secret.
    private mutating func refuseSecretsForUnknownIssuer() {
        let others = ["reauth_command"] + ExchangeReader.subjects + AssertionGrantReader.sources
        let secrets = ClientReader.writtenProofs(in: table) + others.filter { table.has($0) }
        guard !table.has("issuer"), let secret = secrets.first else { return }
        table.report(
            "issuer",
            "required: \(secret) must not be sent to a server that the resource chooses"
        )
    }

    /// The providers that a session of kind `json` may also name with `preset`.
    private enum PresetName: String, CaseIterable {
        case signaling
        case ecall
    }

    /// Reads `preset`, or returns `nil` if there is none or the session is of another kind.
    private mutating func preset() -> String? {
        guard table.string("kind") == ServerKind.json.rawValue else { return nil }
        return table.word("preset", PresetName.self)?.rawValue
    }

    /// Reads a group of keys with `reader` and marks them as read in ``table``.
    ///
    /// - Parameters:
    ///   - reader: created from ``table``.
    ///   - body: reads the keys.
    /// - Returns: the result of `body`.
    mutating func part<Reader: SessionPartReading, Value>(
        _ reader: Reader,
        _ body: (inout Reader) -> Value
    ) -> Value {
        var reader = reader
        defer { table = reader.table }
        return body(&reader)
    }

    /// The kind of a session that names none: a service account of Google needs no issuer.
    private var usualKind: ServerKind {
        let isServiceAccount = table.has("service_account_file")
        return isServiceAccount && !table.has("issuer") && !table.has("resource") ? .oauth2 : .oidc
    }

    /// Reports the problems that the OAuth client finds in the session's profile.
    private func report(
        _ server: ServerProfile.Kind?,
        _ client: ConfiguredClient?,
        _ session: ConfiguredSession,
        _ kind: ServerKind
    ) {
        var problems = server?.settings.problems ?? []
        // Without its server, the other requirements of a session without logins are unknown.
        if server != nil || kind.hasLogins {
            let profile = session.profile { _ in SecretID(rawValue: 0) }
            // The errors of a client that could not be read were reported.
            problems += (client == nil ? [] : profile.clientProblems) + profile.otherProblems
        }
        for problem in problems { table.report(problem.key, problem.message) }
    }

    private mutating func flow(_ kind: ServerKind) -> LoginFlow {
        guard !kind.flows.isEmpty else { return kind.defaultFlow }
        let flow = table.word("flow", LoginFlow.self) ?? kind.defaultFlow
        if !kind.flows.contains(flow) {
            let words = kind.flows.map(\.rawValue).joined(separator: ", ")
            table.report("flow", "must be one of \(words) for kind \(kind.rawValue)")
        }
        return flow
    }

    private mutating func trust() -> ServerTrust {
        ServerTrust(
            caFile: table.path("ca_file", home: home),
            pins: table.strings("pins") ?? [],
            proxy: ForwardProxyReader.read(
                &table,
                home: home,
                coversInternal: true,
                else: surroundings.proxy
            )
        )
    }

    private mutating func policy(
        _ reauthentication: [ReauthenticationStep],
        _ kind: ServerKind,
        _ flow: LoginFlow
    ) -> SessionPolicy {
        var policy = SessionPolicy(reading: &table, defaults: surroundings.policy)
        let range = Duration.seconds(1)...Duration.seconds(3650 * 86_400)
        policy.maximumSessionAge = table.duration("max_session_age", in: range, "1s to 3650d")
        policy.warnBefore = table.duration("warn_before", in: range, "1s to 3650d")
        policy.tokensOutliveLogin = kind.tokensOutliveLogin
        policy.startsByItself = flow.needsNobody
        policy.isShared = isShared(kind, flow)
        policy.reuseGrace = reuseGrace(isShared: policy.isShared)
        policy.revokes = revokes(kind, flow)
        if kind == .awsRole {
            policy = policy.forRoles
            policy.roles = .own
        }
        if kind == .identityCenter { policy.roles = .variants }
        // "prompt" is not a step: it remains when all others have failed.
        policy.noninteractiveLogins = reauthentication.compactMap {
            NoninteractiveLoginMethod(rawValue: $0.rawValue)
        }
        return policy
    }
}
