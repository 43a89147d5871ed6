// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// Checks which sessions are made from which, once all have been read.
///
/// A mistake in a file beside the configuration file costs that file's session, and those made from it; one in the
/// configuration file is the mistake of the whole.
struct SourceCheck {
    private let known: KnownSessions
    /// Where the keys of each session are.
    private let tables: [SessionName: TableReader]
    /// Of the configuration file.
    private let problems: ProblemList

    init(_ known: KnownSessions, _ tables: [SessionName: TableReader], _ problems: ProblemList) {
        self.known = known
        self.tables = tables
        self.problems = problems
    }

    /// Takes the sessions out of `settings` that cannot be made from what they name, each with its mistake.
    func check(_ settings: inout Settings) {
        guard settings.sessions.contains(where: { !$0.sources.all.isEmpty }) else { return }
        let files = settings.sessions.filter { settings.places[$0.name]?.file != nil }
        remove(files, from: &settings)
        let others = settings.sessions.filter { settings.places[$0.name]?.file == nil }
        remove(others, from: &settings)
        // Otherwise nothing comes into force.
        guard problems.isEmpty else { return }
        removeOrphans(from: &settings)
        connectRoles(in: &settings)
    }

    /// Tells the roles of IAM Identity Center where it is: as the sessions say that they are made from.
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

    /// Takes those out of `settings` whose sources are not there, and those that are made from them.
    private func removeOrphans(from settings: inout Settings) {
        var orphans: [ConfiguredSession] = []
        repeat {
            let names = Set(settings.sessions.map(\.name))
            orphans = settings.sessions.filter { !$0.sources.all.allSatisfy(names.contains) }
            for orphan in orphans {
                for (key, source) in orphan.sources.byKey where !names.contains(source) {
                    let reason = known.absence(of: source.description) ?? "it has a mistake"
                    note(
                        "\(source) is not there to make the session from: \(reason)",
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

    /// Takes those of `sessions` out of `settings` whose sources make no sense.
    private func remove(_ sessions: [ConfiguredSession], from settings: inout Settings) {
        let lines = SourceLines(settings.sessions)
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
        let nearest = SpellingSuggestion.to(word, among: known.names).map { "did you mean \($0)?" }
        return "there is no session \"\(word)\"; \(nearest ?? "name one that is there, or make it")"
    }

    /// Adds a mistake that costs `session`.
    private func note(
        _ message: String,
        _ key: String,
        of session: ConfiguredSession,
        in settings: inout Settings
    ) {
        guard let table = tables[session.name] else { return }
        let list = ProblemList(file: settings.places[session.name]?.file, session: session.name)
        list.add(table.name(of: key), at: table.position(of: key), message)
        settings.mistakes += list.inOrder
    }
}

extension ConfiguredSources {
    /// The sessions with the keys that name them.
    fileprivate var byKey: [(key: String, source: SessionName)] {
        let named = [("from", subject), ("actor_from", actor)]
        return named.compactMap { key, source in source.map { (key: key, source: $0) } }
    }
}

/// The lines of sessions that are made from each other.
private struct SourceLines {
    private let sources: [SessionName: [SessionName]]
    private let roles: Set<SessionName>
    /// The roles that are assigned by an account and a name.
    private let assigned: Set<SessionName>
    private let centers: Set<SessionName>

    init(_ sessions: [ConfiguredSession]) {
        roles = Set(sessions.lazy.filter(\.hasRoleCredentials).map(\.name))
        assigned = Set(sessions.lazy.filter(\.isAssignedRole).map(\.name))
        centers = Set(sessions.lazy.filter { $0.server.identity.kind == .identityCenter }.map(\.name))
        let derived = sessions.filter { !$0.sources.all.isEmpty }
        sources = Dictionary(derived.map { ($0.name, $0.sources.all) }) { first, _ in first }
    }

    /// What is wrong with `source` as a source of `name`.
    func problem(with source: SessionName, of name: SessionName) -> String? {
        guard source != name else { return "names the session itself" }
        guard !roles.contains(source) else {
            return "names \(source), which has the credentials of a role and no token"
        }
        guard !assigned.contains(name) || centers.contains(source) else {
            return
                "names \(source), which is not of kind aws_sso: account_id and role_name are for one that is"
        }
        guard assigned.contains(name) || !roles.contains(name) || !centers.contains(source) else {
            return "names \(source), whose token gives roles by account_id and role_name, not by role_arn"
        }
        guard !leads(from: source, to: name) else {
            return
                "leads in a circle: \(source) is itself made from \(name); one of them needs another source"
        }
        let longest = ConfiguredSources.longestChain
        guard length(of: source, within: longest) >= longest else { return nil }
        return "makes a chain of more than \(longest) sessions, each made from the next"
    }

    private func leads(from source: SessionName, to name: SessionName) -> Bool {
        var reached: Set<SessionName> = []
        var next = [source]
        while let latest = next.popLast() {
            guard latest != name else { return true }
            if reached.insert(latest).inserted { next += sources[latest] ?? [] }
        }
        return false
    }

    /// How many sessions follow each other from `name` on, not counting the last, which is made from none; at most
    /// `limit`.
    private func length(of name: SessionName, within limit: Int) -> Int {
        guard limit > 0, let next = sources[name] else { return 0 }
        return 1 + (next.map { length(of: $0, within: limit - 1) }.max() ?? 0)
    }
}
