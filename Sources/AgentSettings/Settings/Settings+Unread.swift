// SPDX-License-Identifier: MIT

import TokenCore

extension Settings {
    /// The sessions of `old` that are still there, but in files which cannot be read now: a mistake changes nothing.
    package func unread(of old: Settings) -> Set<SessionName> {
        let mistaken = Set(mistakes.compactMap(\.session))
        guard !mistaken.isEmpty || lacksFiles else { return [] }
        let names = Set(sessions.map(\.name))
        let unread = old.sessions.lazy.map(\.name).filter { name in
            !names.contains(name)
                && (mistaken.contains(name) || lacksFiles && old.places[name]?.file != nil)
        }
        return Set(unread)
    }

    /// The tables that name the session `name`, and would be wrong without it.
    package func tables(naming name: SessionName) -> [String] {
        let listening = listeners.filter { $0.session == name }.map(\.title)
        return sockets.filter { $0.sessions.contains(name) }.map { "[[socket]] \($0.path)" }
            + files.filter { $0.session == name }.map { "[[file]] \($0.path)" } + listening
            + sessions.filter { $0.sources.all.contains(name) }.map { "[session.\($0.name)]" }
    }

    /// These settings with the sessions `names` as `old` has them.
    package func keeping(_ names: Set<SessionName>, of old: Settings) -> Settings {
        // As at every start, where adding none would still copy all.
        guard !names.isEmpty else { return self }
        var settings = self
        settings.sessions += old.sessions.filter { names.contains($0.name) }
        for name in names { settings.places[name] = old.places[name] }
        return settings
    }
}
