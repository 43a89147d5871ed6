// SPDX-License-Identifier: MIT

import AgentProtocol

/// The text of a session file: one table with comments.
struct SessionDraft {
    let name: String
    private var comments: [String] = []
    private var lines: [DraftLine] = []

    init(name: String) {
        self.name = name
    }

    /// Adds a comment before the table; control characters in it become question marks.
    mutating func note(_ text: String) {
        comments.append(
            String(decoding: text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x3F : $0 }, as: UTF8.self)
        )
    }

    /// Adds a key unless `text` is `nil`.
    mutating func add(_ key: String, _ text: String?) {
        add([DraftLine(key, text)])
    }

    mutating func add(_ key: String, _ number: Int?) {
        if let number { lines.append(DraftLine(key: key, value: String(number))) }
    }

    /// Adds a key with the value `true`, or nothing.
    mutating func add(_ key: String, if isTrue: Bool) {
        if isTrue { lines.append(DraftLine(key: key, value: "true")) }
    }

    mutating func add(_ key: String, _ texts: [String]) {
        add([DraftLine(key, texts)])
    }

    /// Adds those of `lines` that are not `nil`.
    mutating func add(_ lines: [DraftLine?]) {
        self.lines += lines.compactMap(\.self)
    }

    /// The file as TOML.
    var text: String {
        let width = lines.map(\.key.utf8.count).max() ?? 0
        let table = lines.map { TextTable.padded($0.key, to: width) + " = " + $0.value }
        let header = "[session.\(SessionDraft.key(name))]"
        return (comments.map { "# \($0)" } + [header] + table).map { $0 + "\n" }.joined()
    }

    /// Formats `text` as a basic string (TOML 1.0, String).
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// Formats `name` as a key, in quotes if required (TOML 1.0, Keys).
    static func key(_ name: String) -> String { isBare(name) ? name : quoted(name) }

    private static func isBare(_ key: String) -> Bool {
        key.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

extension SessionDraft {
    /// Creates the table of a session; text of a server is used only in a comment.
    ///
    /// - Parameters:
    ///   - newSession: The requested session.
    ///   - chosen: The choices made for it.
    ///   - offer: The capabilities of the issuer, for a comment.
    /// - Throws: ``AgentError`` with the code `badRequest` for an issuer that is not a Cognito user pool.
    init(_ newSession: NewSession, _ chosen: FlowAndScopes, _ offer: ServerProbeMessage?) throws(AgentError) {
        self.init(name: newSession.name)
        let (server, client, provider) = (newSession.server, newSession.client, newSession.server.provider)
        note("Written by tokenctl add; change it as you like. tokenctl remove \(name) deletes it.")
        if let provider {
            note([provider.title, provider.source].compactMap(\.self).joined(separator: ": "))
        }
        if let offer { note(offer.words) }
        add("kind", server.kind.rawValue)
        switch server.kind {
        case .cognito:
            let pool = try CognitoIssuer(server.issuer ?? "")
            add("region", pool.region)
            add("user_pool_id", pool.pool)
        case .awsSSO: add("start_url", server.issuer)
        case .oidc, .oauth2, .json, .awsRole, .githubApp:
            add("resource", server.resource)
            add("issuer", server.issuer)
            add("metadata_url", server.metadata)
        }
        add("from", newSession.source)
        add("role_arn", server.roleARN)
        add("region", server.region)
        for endpoint in server.endpoints { add(endpoint.key, endpoint.address) }
        add(client)
        add("scopes", chosen.scopes)
        add("audience", newSession.audience)
        add("resources", newSession.resources)
        add("flow", chosen.flowWritten(for: newSession))
        let takesKnownPort =
            newSession.redirectURI == nil && newSession.hasLogin && chosen.flow != .device
            && server.kind != .cognito
        add("redirect_port", newSession.redirectPort ?? (takesKnownPort ? provider?.redirectPort : nil))
        add("redirect_uri", newSession.redirectURI)
        add(newSession.lines)
        add("ca_file", server.authority?.path)
        add("hosts", newSession.hosts.isEmpty ? server.knownHosts : newSession.hosts)
        if let provider { leave(to: provider) }
    }

    /// Leaves the keys to the provider that it sets itself.
    private mutating func leave(to provider: Provider) {
        let own = lines.filter { !provider.sets($0) }
        let named = [DraftLine("provider", provider.name), DraftLine("provider_values", provider.given)]
        lines = named.compactMap(\.self) + own
    }

    private mutating func add(_ client: NewSessionClient) {
        add("client_id", client.id)
        add("client_secret_file", client.secretFile)
        add("client_secret_sealed", if: client.givesSecret)
        add("client_key_file", client.keyFile)
        add("client_key_id", client.keyID)
        add("client_certificate_file", client.certificateFile)
        add("client_authentication", client.authentication?.rawValue)
    }
}

/// A key of a session's table, and its value in TOML.
struct DraftLine: Equatable {
    let key: String
    let value: String
}

extension DraftLine {
    /// Creates a line with a string, or returns `nil` if there is none.
    init?(_ key: String, _ text: String?) {
        guard let text else { return nil }
        self.init(key: key, value: SessionDraft.quoted(text))
    }

    /// Creates a line with an array of strings, or returns `nil` if it is empty.
    init?(_ key: String, _ texts: [String]) {
        guard !texts.isEmpty else { return nil }
        self.init(key: key, value: "[" + texts.map(SessionDraft.quoted).joined(separator: ", ") + "]")
    }

    /// Creates a line with an inline table, or returns `nil` if it is empty.
    init?(_ key: String, _ values: [NamedValue]) {
        guard !values.isEmpty else { return nil }
        let members = values.map { "\(SessionDraft.key($0.name)) = \(SessionDraft.quoted($0.value))" }
        self.init(key: key, value: "{ " + members.joined(separator: ", ") + " }")
    }
}

extension NewSessionServer {
    /// The servers that tokens of the provider are for, or none if another server has its tokens.
    fileprivate var knownHosts: [String] {
        guard let provider else { return [] }
        guard issuer?.bytewise != provider.issuer?.bytewise else { return provider.hosts }
        // Another installation has its own tokens.
        guard provider.isForIssuersHost, let place = issuer.flatMap({ ServerAddress(url: $0) })?.place else {
            return []
        }
        return [place.text]
    }
}
