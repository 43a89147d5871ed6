// SPDX-License-Identifier: MIT

import OAuthClient
import Text
import TokenCore

/// What a session without a login of its own is made from.
package struct ConfiguredSources: Equatable, Sendable {
    /// `from`.
    package var subject: SessionName?
    /// `actor_from`.
    package var actor: SessionName?
    /// The subject's ID token is used, not its access token.
    package var usesIDToken = false
    /// `derived = "open"`: only its own `allow` counts, not that of its sources.
    package var isOpen = false
    /// What its tokens are given for, for the flows `token_exchange` and `jwt_bearer`.
    package var grant: TokenGrant?

    /// The sessions among them.
    package var all: [SessionName] { [subject, actor].compactMap(\.self) }

    /// Whether what is made from them shows their tokens as assertions.
    package var areAssertions: Bool { assertion != nil }

    /// The most exchanges that lead from a login to a session.
    static let longestChain = 4

    /// The file that is read for its requests, with its key.
    var file: (key: String, path: String)? { grant?.file }

    /// The commands that are run for its requests.
    var commands: [[String]] {
        (grant?.command).map { [$0] } ?? file.map { [ReloadableFile.command(for: $0.path)] } ?? []
    }

    /// What they are, in words that keep their places: when one changes, so do the tokens made from them.
    var words: [String] {
        let sessions = [subject?.description ?? "", actor?.description ?? "", usesIDToken ? "id" : "access"]
        guard let grant else { return subject == nil ? [] : sessions }
        return sessions + grant.words + [file?.path ?? ""] + (grant.command ?? [])
    }

    /// The keys that differ from `old`.
    func keys(differingFrom old: ConfiguredSources) -> [String] {
        let differing: [(String, Bool)] = [
            ("from", subject != old.subject), ("actor_from", actor != old.actor),
            ("derived", isOpen != old.isOpen),
            ("subject_token", exchange?.subject != old.exchange?.subject),
            (
                "subject_token_type",
                exchange?.subjectTokenType != old.exchange?.subjectTokenType || usesIDToken != old.usesIDToken
            ),
            ("requested_token_type", exchange?.requestedTokenType != old.exchange?.requestedTokenType),
            ("assertion_key_id", assertion?.keyID != old.assertion?.keyID),
            ("assertion_claims", assertion?.claims != old.assertion?.claims),
        ]
        return differing.filter(\.1).map(\.0) + assertionKeys(differingFrom: old)
    }

    /// The keys that say where the assertion comes from, as far as they differ from those of `old`; `from` is compared by
    /// itself.
    private func assertionKeys(differingFrom old: ConfiguredSources) -> [String] {
        let supplies = [old.assertion?.source.supply, assertion?.source.supply]
        guard supplies[0]?.source != supplies[1]?.source || supplies[0]?.name != supplies[1]?.name else {
            return []
        }
        let names = supplies.compactMap { $0?.name }
        return names.first == names.last ? Array(names.prefix(1)) : names
    }

    private var exchange: TokenExchange? {
        if case .exchange(let exchange)? = grant { exchange } else { nil }
    }

    private var assertion: AssertionGrant? {
        if case .assertion(let assertion)? = grant { assertion } else { nil }
    }
}

extension TokenGrant {
    /// The file with what is shown, or with the key that signs it, and its key in the configuration.
    fileprivate var file: (key: String, path: String)? {
        switch self {
        case .exchange(let exchange):
            if case .file(let path) = exchange.subject { ("subject_token_file", path) } else { nil }
        case .assertion(let assertion): assertion.file
        }
    }

    /// The program that prints one of these.
    fileprivate var command: [String]? {
        switch self {
        case .exchange(let exchange):
            if case .command(let words) = exchange.subject { words } else { nil }
        case .assertion(let assertion): assertion.command
        }
    }

    /// What else decides which tokens come of it.
    fileprivate var words: [String] {
        switch self {
        case .exchange(let exchange): [exchange.subjectTokenType, exchange.requestedTokenType ?? ""]
        case .assertion(let assertion): [JSONValue.object(assertion.claims).text]
        }
    }
}

extension AssertionGrant {
    fileprivate var file: (key: String, path: String)? {
        guard let supply = source.supply, case .file(let path) = supply.source else { return nil }
        return ("\(supply.name)_file", path)
    }

    fileprivate var command: [String]? {
        if case .command(let words)? = source.supply?.source { words } else { nil }
    }

    fileprivate var keyID: String? {
        if case .signed(let key) = source { key.identifier } else { nil }
    }
}

/// `derived`: who may see a session that is made from another one.
enum DerivedVisibility: String, CaseIterable {
    case open
}

/// The sessions of a configuration by their names, which say what follows for those made from others.
package struct SessionLineage {
    private let sessions: [SessionName: ConfiguredSession]

    package init(_ sessions: [ConfiguredSession]) {
        self.sessions = Dictionary(sessions.map { ($0.name, $0) }) { first, _ in first }
    }

    /// The sessions whose `allow` a peer has to fit beside that of `session`: its sources, and theirs, up to those that
    /// are open.
    package func ruleGivers(of session: ConfiguredSession) -> [SessionName] {
        ancestors(of: session) { !$0.sources.isOpen }.map(\.name)
    }

    /// What decides where the secrets of `session` are sent and whose its tokens are, for all that it is made from.
    package func fingerprint(of session: ConfiguredSession) -> String {
        ([session] + ancestors(of: session) { _ in true }).map(\.fingerprint).joined(separator: "\n")
    }

    /// What a person does who wants to log in to a session that has no login; `nil`: it has one.
    package func loginSubstitute(for session: ConfiguredSession) -> String? {
        guard session.hasNoLogin else { return nil }
        var last = session
        var seen: Set<SessionName> = []
        while seen.insert(last.name).inserted, let source = last.sources.subject.flatMap({ sessions[$0] }) {
            last = source
        }
        guard last.hasNoLogin else { return "tokenctl login \(last.name)" }
        if case .command(let command) = last.server, let remedy = command.loginRemedy { return remedy }
        return "tokenctl refresh \(session.name)"
    }

    /// The sessions that `session` is made from, directly or not, each once; those of a session only where
    /// `leadsOn` says so.
    private func ancestors(
        of session: ConfiguredSession,
        where leadsOn: (ConfiguredSession) -> Bool
    ) -> [ConfiguredSession] {
        var found: [ConfiguredSession] = []
        var seen: Set<SessionName> = [session.name]
        var next = [session]
        while let latest = next.popLast() {
            guard leadsOn(latest) else { continue }
            for source in latest.sources.all.compactMap({ sessions[$0] })
            where seen.insert(source.name).inserted {
                found.append(source)
                next.append(source)
            }
        }
        return found
    }
}
