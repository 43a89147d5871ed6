// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

extension Settings {
    /// Returns the differences from `old`, with tables in the order of their names.
    package func changes(from old: Settings) -> [ConfigurationChange] {
        tableChanges(from: old) + placeChanges("socket", from: old.sockets, to: sockets, at: \.path)
            + placeChanges("file", from: old.files, to: files, at: \.path) + listenerChanges(from: old)
            + sessionChanges(from: old)
    }

    /// Returns the differences of the tables of which there is one.
    private func tableChanges(from old: Settings) -> [ConfigurationChange] {
        SettingsTable.allCases.flatMap { table -> [ConfigurationChange] in
            let (before, now) = (old.written[table], written[table])
            // Only a fleet exists because of its table.
            if table == .fleet, before == nil || now == nil {
                guard before != nil || now != nil else { return [] }
                return [ConfigurationChange(now == nil ? .removed : .added, table.rawValue)]
            }
            let keys = (now ?? TableValueHashes()).keys(differingFrom: before ?? TableValueHashes())
            return keys.map { ConfigurationChange(.changed, "\(table.rawValue).\($0)") }
        }
    }

    /// Returns the differences between the tables `[[name]]`, which are identified by path or name.
    private func placeChanges<Table: Equatable>(
        _ name: String,
        from old: [Table],
        to new: [Table],
        at path: (Table) -> String
    ) -> [ConfigurationChange] {
        let before = Dictionary(old.map { (path($0), $0) }) { first, _ in first }
        let now = Dictionary(new.map { (path($0), $0) }) { first, _ in first }
        return Set(before.keys).union(now.keys).sorted().compactMap { path in
            guard before[path] != now[path] else { return nil }
            let kind: ConfigurationChange.Kind =
                before[path] == nil ? .added : now[path] == nil ? .removed : .changed
            return ConfigurationChange(kind, "\(name) \(path)")
        }
    }

    private func listenerChanges(from old: Settings) -> [ConfigurationChange] {
        [false, true].flatMap { isProxy in
            let before = old.listeners.filter { ($0.message.kind == .proxy) == isProxy }
            let now = listeners.filter { ($0.message.kind == .proxy) == isProxy }
            return placeChanges(isProxy ? "proxy" : "endpoint", from: before, to: now, at: \.name)
        }
    }

    private func sessionChanges(from old: Settings) -> [ConfigurationChange] {
        let before = Dictionary(old.sessions.map { ($0.name, $0) }) { first, _ in first }
        let now = Dictionary(sessions.map { ($0.name, $0) }) { first, _ in first }
        return Set(before.keys).union(now.keys).sorted().flatMap { name -> [ConfigurationChange] in
            let table = "session.\(name)"
            guard let old = before[name] else { return [ConfigurationChange(.added, table, session: name)] }
            guard let new = now[name] else { return [ConfigurationChange(.removed, table, session: name)] }
            return new.written.keys(differingFrom: old.written).map {
                ConfigurationChange(.changed, "\(table).\($0)", session: name)
            }
        }
    }
}

/// A table of which a configuration has one.
enum SettingsTable: String, CaseIterable, Sendable {
    case agent, hooks, vault, fleet
}

extension ServerProfile.Kind {
    /// The URL of the protected resource that names the server.
    package var resourceAddress: String? {
        if case .resource(let resource) = self { resource.address } else { nil }
    }

    /// The configured URL of the issuer's metadata, if any.
    package var metadataAddress: String? {
        switch self {
        case .oidc(_, let address): address
        case .resource(let resource): resource.metadata
        default: nil
        }
    }
}
