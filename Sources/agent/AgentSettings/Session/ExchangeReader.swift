// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// A reader of the sources of a session of flow `token_exchange` (RFC 8693 §2.1).
struct ExchangeReader: SessionPartReading {
    /// The session's table.
    private(set) var table: TableReader
    private let home: String?

    /// The keys for the token that is exchanged.
    static let subjects = ["from", "subject_token_file", "subject_token_command"]
    /// The keys that no other flow has.
    private static let keys =
        subjects.dropFirst() + ["subject_token_type", "requested_token_type", "actor_from"]
    /// The types that the token of a session can have.
    private static let sessionTypes = [TokenType.accessToken, .idToken, .jwt]

    /// Creates a reader of `table`, in which `~/` means `home`.
    init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// Reads the sources, with errors in the problem list.
    ///
    /// Whether the source sessions exist is checked after all sessions have been read.
    mutating func read() -> ConfiguredSources {
        var sources = table.sources(actor: table.string("actor_from"))
        let subject = subject()
        let type = tokenType(table.string("subject_token_type"), "subject_token_type")
        let requested = tokenType(table.string("requested_token_type"), "requested_token_type")
        guard let subject else { return sources }
        if subject == .session, let type, !Self.sessionTypes.contains(type) {
            table.report(
                "subject_token_type",
                "must be access_token, id_token or jwt: a session has no other token to exchange"
            )
        }
        sources.usesIDToken = subject == .session && type == .idToken
        sources.grant = .exchange(
            TokenExchange(
                subject: subject,
                subjectTokenType: (type ?? (subject == .session ? .accessToken : .jwt)).uri,
                requestedTokenType: requested?.uri
            )
        )
        return sources
    }

    /// Reports the keys of an exchange in a session of another flow.
    mutating func refuse() {
        table.refuse(Self.keys, "only for flow \"token_exchange\"")
    }

    private mutating func subject() -> TokenExchange.Subject? {
        let file = table.path("subject_token_file", home: home)
        let command = table.command("subject_token_command")
        guard let first = Self.subjects.first(where: { table.has($0) }) else {
            table.report("from", "required: session whose token is exchanged, or subject_token_file")
            return nil
        }
        guard table.permitsOne(of: Self.subjects) else { return nil }
        return first == "from" ? .session : file.map { .file($0) } ?? command.map { .command($0) }
    }

    private func tokenType(_ text: String?, _ key: String) -> TokenType? {
        guard let text else { return nil }
        guard let type = TokenType(written: text) else {
            table.report(key, "\"\(text)\" is not a token type such as \"access_token\", or a URI")
            return nil
        }
        guard type != .refreshToken else {
            table.report(key, "must not be a refresh token: exchanges do not support it")
            return nil
        }
        return type
    }
}

extension TableReader {
    /// Reads `from` and `derived`; `actor` is the value of `actor_from`.
    mutating func sources(actor: String? = nil) -> ConfiguredSources {
        var sources = ConfiguredSources()
        sources.subject = sessionName(string("from"), "from")
        sources.actor = sessionName(actor, "actor_from")
        sources.isOpen = word("derived", DerivedSessionVisibility.self) == .open
        if sources.isOpen, !has("from"), actor == nil {
            report("derived", "has no effect without from or actor_from")
        }
        return sources
    }

    private func sessionName(_ text: String?, _ key: String) -> SessionName? {
        guard let text else { return nil }
        if let name = SessionName(text) { return name }
        report(key, "\"\(text)\" is not a session name")
        return nil
    }
}
