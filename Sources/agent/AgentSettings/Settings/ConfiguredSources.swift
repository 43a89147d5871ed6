// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The sources of a session without a login.
package struct ConfiguredSources: Equatable, Sendable {
    /// The session in `from`.
    package var subject: SessionName?
    /// The session in `actor_from`.
    package var actor: SessionName?
    /// Whether the subject's ID token is used instead of its access token.
    package var usesIDToken = false
    /// Whether only its own `allow` applies, and not those of its sources (`derived = "open"`).
    package var isOpen = false
    /// The grant for its tokens, for the flows `token_exchange` and `jwt_bearer`.
    package var grant: TokenGrant?

    /// All source sessions.
    package var all: [SessionName] { [subject, actor].compactMap(\.self) }

    /// Whether the sources' tokens are sent as assertions.
    package var areAssertions: Bool { assertion != nil }

    /// The maximum number of exchanges between a login and a session.
    static let maximumChain = 4

    /// The file read for its requests, with its key.
    var file: (key: String, path: String)? { grant?.file }

    /// The commands run for its requests.
    var commands: [[String]] {
        (grant?.command).map { [$0] } ?? file.map { [SecretSource.printing($0.path)] } ?? []
    }

    /// Words that identify the sources, in fixed positions: if one changes, the tokens made from them change
    /// too.
    var words: [String] {
        let sessions = [subject?.description ?? "", actor?.description ?? "", usesIDToken ? "id" : "access"]
        guard let grant else { return subject == nil ? [] : sessions }
        return sessions + grant.words + [file?.path ?? ""] + (grant.command ?? [])
    }

    private var exchange: TokenExchange? {
        if case .exchange(let exchange)? = grant { exchange } else { nil }
    }

    private var assertion: AssertionGrant? {
        if case .assertion(let assertion)? = grant { assertion } else { nil }
    }
}

extension TokenGrant {
    /// The file with the token or assertion, or with the signing key, and its configuration key.
    fileprivate var file: (key: String, path: String)? {
        switch self {
        case .exchange(let exchange):
            if case .file(let path) = exchange.subject { ("subject_token_file", path) } else { nil }
        case .assertion(let assertion): assertion.file
        }
    }

    /// The command that prints the token, the assertion or the signing key.
    fileprivate var command: [String]? {
        switch self {
        case .exchange(let exchange):
            if case .command(let words) = exchange.subject { words } else { nil }
        case .assertion(let assertion): assertion.command
        }
    }

    /// Further words that decide which tokens are issued.
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

/// The value of `derived`: who may see a session that is made from another.
enum DerivedSessionVisibility: String, CaseIterable {
    case open
}

/// The sessions of a configuration by name, with the consequences for sessions made from others.
package struct DerivationGraph {
    private let sessions: [SessionName: ConfiguredSession]

    package init(_ sessions: [ConfiguredSession]) {
        self.sessions = Dictionary(sessions.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Returns the sessions whose `allow` a peer must satisfy in addition to that of `session`.
    ///
    /// These are its sources and their sources, up to sessions that are open.
    package func ruleGivers(of session: ConfiguredSession) -> [SessionName] {
        ancestors(of: session) { !$0.sources.isOpen }.map(\.name)
    }

    /// Returns the fingerprints of `session` and of everything it is made from.
    ///
    /// They decide where its secrets are sent and who owns its tokens.
    package func fingerprint(of session: ConfiguredSession) -> String {
        ([session] + ancestors(of: session) { _ in true }).map(\.fingerprint).joined(separator: "\n")
    }

    /// Returns the step that replaces a login if `session` has none, or `nil` if it has one.
    package func loginSubstitute(for session: ConfiguredSession) -> Remedy? {
        guard session.hasNoLogin else { return nil }
        var last = session
        var seen: Set<SessionName> = []
        while seen.insert(last.name).inserted, let source = last.sources.subject.flatMap({ sessions[$0] }) {
            last = source
        }
        guard last.hasNoLogin else { return .run("tokenctl login \(last.name)") }
        if case .command(let command) = last.server, let remedy = command.loginRemedy { return .run(remedy) }
        return .run("tokenctl refresh \(session.name)")
    }

    /// Returns the direct and indirect sources of `session`, each once.
    ///
    /// The sources of a session count only if `leadsOn` returns `true` for it.
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
