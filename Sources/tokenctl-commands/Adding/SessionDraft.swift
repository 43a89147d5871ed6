// SPDX-License-Identifier: MIT

import AgentProtocol

/// The text of a session's file: one table with comments.
struct SessionDraft {
    let name: String
    private var comments: [String] = []
    private var lines: [(key: String, value: String)] = []

    init(name: String) {
        self.name = name
    }

    /// Adds a comment in front of the table; control characters in it become question marks.
    mutating func note(_ text: String) {
        comments.append(
            String(decoding: text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x3F : $0 }, as: UTF8.self)
        )
    }

    /// Adds a key, unless there is no value.
    mutating func add(_ key: String, _ text: String?) {
        if let text { lines.append((key, SessionDraft.quoted(text))) }
    }

    mutating func add(_ key: String, _ number: Int?) {
        if let number { lines.append((key, String(number))) }
    }

    /// Adds a key that is true or not there.
    mutating func add(_ key: String, if isTrue: Bool) {
        if isTrue { lines.append((key, "true")) }
    }

    mutating func add(_ key: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        lines.append((key, "[" + texts.map(SessionDraft.quoted).joined(separator: ", ") + "]"))
    }

    /// In TOML.
    var text: String {
        let width = lines.map(\.key.utf8.count).max() ?? 0
        let table = lines.map { TextTable.padded($0.key, to: width) + " = " + $0.value }
        let header = "[session.\(SessionDraft.isBare(name) ? name : SessionDraft.quoted(name))]"
        return (comments.map { "# \($0)" } + [header] + table).map { $0 + "\n" }.joined()
    }

    /// A basic string (TOML 1.0, String).
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

    /// Whether a key needs no quotes (TOML 1.0, Keys).
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
    /// The table for a session; no text of a server becomes part of it.
    ///
    /// - Parameters:
    ///   - wish: what is known of the session.
    ///   - chosen: what was chosen for it.
    ///   - offer: what the issuer offers, for a comment.
    /// - Throws: ``AgentError`` with the code `badRequest` for an issuer that is no user pool's.
    init(_ wish: SessionWish, _ chosen: ChosenSession, _ offer: ExaminationMessage?) throws(AgentError) {
        self.init(name: wish.name)
        let (server, client, preset) = (wish.server, wish.client, wish.server.preset)
        note("Written by tokenctl add; change it as you like. tokenctl remove \(name) deletes it.")
        if let preset { note("\(preset.name): \(preset.source)") }
        if let offer { note(offer.words) }
        add("kind", server.kind.rawValue)
        switch server.kind {
        case .cognito:
            let pool = try CognitoIssuer(server.issuer ?? "")
            add("region", pool.region)
            add("user_pool_id", pool.pool)
        case .awsSSO: add("start_url", server.issuer)
        case .oidc, .oauth2, .awsRole:
            add("resource", server.resource)
            add("issuer", server.issuer)
        }
        add("from", wish.source)
        add("role_arn", server.roleARN)
        add("region", server.region)
        for endpoint in server.endpoints { add(endpoint.key, endpoint.address) }
        add("client_id", client.id)
        add("client_secret_file", client.secretFile)
        add("client_secret_sealed", if: client.givesSecret)
        add("client_key_file", client.keyFile)
        add("client_key_id", client.keyID)
        add("client_certificate_file", client.certificateFile)
        add("scopes", chosen.scopes)
        add("audience", wish.audience)
        let isExchanged = wish.source != nil && server.roleARN == nil
        add("flow", isExchanged ? "token_exchange" : chosen.flow?.rawValue)
        let takesKnownPort =
            wish.redirectURI == nil && wish.source == nil && chosen.flow != .device && server.kind != .cognito
        add("redirect_port", wish.redirectPort ?? (takesKnownPort ? preset?.redirectPort : nil))
        add("redirect_uri", wish.redirectURI)
        add("ca_file", server.caFile)
        // What the preset knows of its own server is not true of another one.
        let isKnownServer = server.issuer == preset?.issuer && server.endpoints == preset?.endpoints ?? []
        if isKnownServer { add("hosts", preset?.hosts ?? []) }
    }
}
