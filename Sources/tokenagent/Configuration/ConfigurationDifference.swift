// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Glibc
import TokenCore

/// The difference between a configuration and the active one, and the changes that require a restart.
struct ConfigurationDifference {
    /// The active settings without client secrets, from ``Settings/withoutSecrets``.
    let old: Settings
    /// The settings that are read only at the agent's start, or `nil` during the start.
    let atStart: SettingsAtStart?
    /// Whether the command line sets the log level.
    let isLevelFixed: Bool
    /// A closure that returns whether a client secret written in the file is the active one.
    let isInForce: (String, SessionName) -> Bool

    func changes(to settings: Settings, in file: String) -> ConfigurationChanges {
        var changes = ConfigurationChanges(file: file)
        changes.changes = settings.withoutSecrets.changes(from: old)
        let written = old.sessions.filter(\.holdsLiteralSecret).map(\.name)
        changes.changes += replacedSecrets(in: settings, among: Set(written))
        let late = atStart?.keys(changedIn: settings) ?? []
        changes.restarts = late.map {
            ConfigurationChanges.Restart($0, reason: "read only when the agent starts")
        }
        if isLevelFixed, settings.logLevel != old.logLevel {
            let reason = "fixed by --log-level"
            changes.restarts.append(ConfigurationChanges.Restart("agent.log_level", reason: reason))
        }
        changes.restarts += settings.sessions.flatMap(outOfReach)
        changes.mistakes = settings.mistakes(beside: file)
        changes.hasOtherMistakes = settings.mistakes != old.mistakes
        return changes
    }

    /// Returns a change for each session whose client secret was and is `written` in the file, but differs.
    private func replacedSecrets(
        in settings: Settings,
        among written: Set<SessionName>
    ) -> [ConfigurationChange] {
        settings.sessions.compactMap { session in
            guard let text = session.client.literalSecret, written.contains(session.name),
                !isInForce(text, session.name)
            else { return nil }
            let key = "session.\(session.name).client_secret"
            return ConfigurationChange(.changed, key, session: session.name)
        }
    }

    /// Returns the session's files that the agent's sandbox, not their mode, makes unreadable.
    private func outOfReach(_ session: ConfiguredSession) -> [ConfigurationChanges.Restart] {
        session.files.compactMap { key, path in
            guard ConfigurationDifference.isClosedOff(path) else { return nil }
            return ConfigurationChanges.Restart(
                "session.\(session.name).\(key)",
                session: session.name,
                reason: "\(path) is outside the running agent's sandbox"
            )
        }
    }

    private static func isClosedOff(_ path: String) -> Bool {
        guard unsafe access(path, R_OK) == 0 else { return false }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        let reason = errno
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return reason == EACCES
    }
}

extension Settings {
    /// The settings without client secrets, so that they may be kept in memory.
    var withoutSecrets: Settings {
        var settings = self
        for index in settings.sessions.indices {
            settings.sessions[index].client = settings.sessions[index].client.withoutSecret
        }
        return settings
    }
}
