// SPDX-License-Identifier: MIT

import TokenCore

extension Settings {
    /// Returns the sessions of `old` whose files still exist but cannot be read now.
    ///
    /// An error in a file must not remove its session.
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

    /// Returns the tables that name the session `name`, and would be invalid without it.
    package func tables(naming name: SessionName) -> [String] {
        let listening = listeners.filter { $0.session == name }.map(\.title)
        return sockets.filter { $0.sessions.contains(name) }.map { "[[socket]] \($0.path)" }
            + files.filter { $0.session == name }.map { "[[file]] \($0.path)" } + listening
            + sessions.filter { $0.sources.all.contains(name) }.map { "[session.\($0.name)]" }
    }

    /// Returns these settings with the sessions `names` as they are in `old`.
    package func keeping(_ names: Set<SessionName>, of old: Settings) -> Settings {
        // The usual case: adding nothing would still copy all sessions.
        guard !names.isEmpty else { return self }
        var settings = self
        settings.sessions += old.sessions.filter { names.contains($0.name) }
        for name in names { settings.places[name] = old.places[name] }
        return settings
    }
}
