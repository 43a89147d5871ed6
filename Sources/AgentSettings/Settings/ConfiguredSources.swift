// SPDX-License-Identifier: MIT

import OAuthClient
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
    /// What is exchanged, for the flow `token_exchange`.
    package var exchange: TokenExchange?

    /// The sessions among them.
    package var all: [SessionName] { [subject, actor].compactMap(\.self) }

    /// The most exchanges that lead from a login to a session.
    static let longestChain = 4

    /// The file that the token to exchange is in, with its key.
    var file: (key: String, path: String)? {
        if case .file(let path) = exchange?.subject { ("subject_token_file", path) } else { nil }
    }

    /// The commands that are run for the token to exchange.
    var commands: [[String]] {
        if case .command(let words) = exchange?.subject { return [words] }
        return file.map { [RenewedFile.command(for: $0.path)] } ?? []
    }

    /// What they are, in words that keep their places: when one changes, so do the tokens made from them.
    var words: [String] {
        let sessions = [subject?.description ?? "", actor?.description ?? "", usesIDToken ? "id" : "access"]
        guard let exchange else { return subject == nil ? [] : sessions }
        let origin: [String] =
            switch exchange.subject {
            case .session: []
            case .file(let path): [path]
            case .command(let command): command
            }
        return sessions + [exchange.subjectTokenType, exchange.requestedTokenType ?? ""] + origin
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
        ]
        return differing.filter(\.1).map(\.0)
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
