// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The check of which sessions are made from which, after all have been read.
///
/// An error in a file of `sessions.d` affects that file's session and those made from it. An error in the
/// configuration file affects the whole configuration.
struct SourceCheck {
    private let known: KnownSessions
    /// The tables of the sessions.
    private let tables: [SessionName: TableReader]
    /// The problem list of the configuration file.
    private let problems: ProblemCollector

    init(_ known: KnownSessions, _ tables: [SessionName: TableReader], _ problems: ProblemCollector) {
        self.known = known
        self.tables = tables
        self.problems = problems
    }

    /// Removes sessions from `settings` that cannot be made from their sources, and reports their errors.
    func check(_ settings: inout Settings) {
        guard settings.sessions.contains(where: { !$0.sources.all.isEmpty }) else { return }
        let files = settings.sessions.filter { settings.places[$0.name]?.file != nil }
        remove(files, from: &settings)
        let others = settings.sessions.filter { settings.places[$0.name]?.file == nil }
        remove(others, from: &settings)
        // With a problem, the whole configuration is rejected.
        guard problems.isEmpty else { return }
        removeOrphans(from: &settings)
        connectRoles(in: &settings)
    }

    /// Copies the portal of IAM Identity Center from each source session to the roles made from it.
    ///
    /// A role without its own `ca_file` and `pins` also gets the source's trust.
    private func connectRoles(in settings: inout Settings) {
        let sources = Dictionary(settings.sessions.map { ($0.name, $0) }) { first, _ in first }
        for index in settings.sessions.indices {
            guard case .portalRole(var role) = settings.sessions[index].server,
                let source = settings.sessions[index].sources.subject.flatMap({ sources[$0] }),
                case .identityCenter(let center) = source.server
            else { continue }
            role.portal = center.portal
            settings.sessions[index].server = .portalRole(role)
            let own = settings.sessions[index].trust
            if own == ServerTrust(proxy: own.proxy) {
                settings.sessions[index].trust = source.trust
            }
        }
    }

    /// Removes sessions whose sources are missing, then those made from them.
    private func removeOrphans(from settings: inout Settings) {
        var orphans: [ConfiguredSession] = []
        repeat {
            let names = Set(settings.sessions.map(\.name))
            orphans = settings.sessions.filter { !$0.sources.all.allSatisfy(names.contains) }
            for orphan in orphans {
                for (key, source) in orphan.sources.byKey where !names.contains(source) {
                    let reason = known.absence(of: source.description) ?? "it has an error"
                    note(
                        "session \"\(source)\" is unavailable: \(reason)",
                        key,
                        of: orphan,
                        in: &settings
                    )
                }
            }
            let left = Set(orphans.map(\.name))
            settings.sessions.removeAll { left.contains($0.name) }
        } while !orphans.isEmpty
    }

    /// Removes those of `sessions` whose sources are invalid.
    private func remove(_ sessions: [ConfiguredSession], from settings: inout Settings) {
        let lines = SourceChains(settings.sessions)
        var removed: Set<SessionName> = []
        for session in sessions {
            for (key, source) in session.sources.byKey {
                guard let problem = absence(of: source) ?? lines.problem(with: source, of: session.name)
                else {
                    continue
                }
                removed.insert(session.name)
                if settings.places[session.name]?.file == nil {
                    tables[session.name]?.report(key, problem)
                } else {
                    note(problem, key, of: session, in: &settings)
                }
            }
        }
        settings.sessions.removeAll { removed.contains($0.name) }
    }

    private func absence(of source: SessionName) -> String? {
        let word = source.description
        guard !known.names.contains(word), known.absence(of: word) == nil else { return nil }
        let nearest = WordSuggestion.question(about: word, among: known.names)
        return "no session named \"\(word)\"\(nearest)"
    }

    /// Adds an error that affects `session`.
    private func note(
        _ message: String,
        _ key: String,
        of session: ConfiguredSession,
        in settings: inout Settings
    ) {
        guard let table = tables[session.name] else { return }
        let list = ProblemCollector(file: settings.places[session.name]?.file, session: session.name)
        list.add(table.name(of: key), at: table.position(of: key), message)
        settings.mistakes += list.inOrder
    }
}

extension ConfiguredSources {
    /// The source sessions with the keys that name them.
    fileprivate var byKey: [(key: String, source: SessionName)] {
        let named = [("from", subject), ("actor_from", actor)]
        return named.compactMap { key, source in source.map { (key: key, source: $0) } }
    }
}

/// The chains of sessions that are made from each other.
private struct SourceChains {
    private let sources: [SessionName: [SessionName]]
    private let roles: Set<SessionName>
    /// The roles assigned by an account and a name.
    private let assigned: Set<SessionName>
    private let centers: Set<SessionName>

    init(_ sessions: [ConfiguredSession]) {
        roles = Set(sessions.lazy.filter(\.hasRoleCredentials).map(\.name))
        assigned = Set(sessions.lazy.filter(\.isAssignedRole).map(\.name))
        centers = Set(sessions.lazy.filter { $0.server.word == .identityCenter }.map(\.name))
        let derived = sessions.filter { !$0.sources.all.isEmpty }
        sources = Dictionary(derived.map { ($0.name, $0.sources.all) }) { first, _ in first }
    }

    /// Returns the reason `source` cannot be a source of `name`, or `nil` if it can.
    func problem(with source: SessionName, of name: SessionName) -> String? {
        guard source != name else { return "must not be the session itself" }
        guard !roles.contains(source) else {
            return "session \"\(source)\" has role credentials and no token"
        }
        guard !assigned.contains(name) || centers.contains(source) else {
            return "session \"\(source)\" is not of kind \"aws_sso\", as account_id and role_name require"
        }
        guard assigned.contains(name) || !roles.contains(name) || !centers.contains(source) else {
            let remedy = Remedy.set("account_id and role_name")
            return "session \"\(source)\" does not support role_arn \(remedy.parenthesized)"
        }
        if let path = path(from: source, to: name) {
            let names = ([name] + path).map(\.description)
            return "circular source: \(names.joined(separator: " -> "))"
        }
        let longest = ConfiguredSources.maximumChain
        guard length(of: source, within: longest) >= longest else { return nil }
        return "has a chain of more than \(longest) sessions, each the source of the previous one"
    }

    /// Returns the sessions from `source` to `name`, each a source of the previous one.
    ///
    /// - Returns: the sessions, or `nil` if `source` is not made from `name`.
    private func path(from source: SessionName, to name: SessionName) -> [SessionName]? {
        var reached: Set<SessionName> = []
        var next = [[source]]
        while let path = next.popLast(), let latest = path.last {
            guard latest != name else { return path }
            if reached.insert(latest).inserted { next += (sources[latest] ?? []).map { path + [$0] } }
        }
        return nil
    }

    /// Returns the length of the longest chain from `name`, at most `limit`.
    ///
    /// The last session of a chain, which has no source, is not counted.
    private func length(of name: SessionName, within limit: Int) -> Int {
        guard limit > 0, let next = sources[name] else { return 0 }
        return 1 + (next.map { length(of: $0, within: limit - 1) }.max() ?? 0)
    }
}
