// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import TokenCore

/// The differences between a configuration and the previous one.
package struct ConfigurationChanges: Equatable, Sendable {
    /// A change that takes effect only after a restart of the agent.
    package struct Restart: Equatable, Sendable {
        /// The configuration key, as in ``ConfigurationChange/key``.
        package var key: String
        package var session: SessionName?
        /// The reason for the user, as a clause.
        package var reason: String

        package init(_ key: String, session: SessionName? = nil, reason: String) {
            self.key = key
            self.session = session
            self.reason = reason
        }
    }

    /// The path of the configuration file.
    package var file: String
    package var changes: [ConfigurationChange]
    package var restarts: [Restart]
    /// All errors of the new configuration.
    package var mistakes: [SessionConfigurationError]
    /// Whether the previous configuration had different errors, or none.
    package var hasOtherMistakes: Bool

    package init(
        file: String,
        changes: [ConfigurationChange] = [],
        restarts: [Restart] = [],
        mistakes: [SessionConfigurationError] = [],
        hasOtherMistakes: Bool = false
    ) {
        self.file = file
        self.changes = changes
        self.restarts = restarts
        self.mistakes = mistakes
        self.hasOtherMistakes = hasOtherMistakes
    }

    /// Whether nothing changed.
    package var isEmpty: Bool { changes.isEmpty && restarts.isEmpty && !hasOtherMistakes }

    /// Returns these changes without those of hidden sessions.
    func limited(to isShown: (SessionName) -> Bool) -> ConfigurationChanges {
        var limited = self
        limited.changes.removeAll { $0.session.map(isShown) == false }
        limited.restarts.removeAll { $0.session.map(isShown) == false }
        return limited
    }

    /// The changes as one clause, such as "added session.z; changed session.work.ca_file".
    package var summary: String {
        ConfigurationChange.Kind.allCases.compactMap { kind in
            let keys = keys(kind)
            return keys.isEmpty ? nil : "\(kind.rawValue) \(keys.joined(separator: ", "))"
        }
        .joined(separator: "; ")
    }

    /// The response to a reload, without the number of sessions.
    var wire: ReloadMessage {
        ReloadMessage {
            $0.file = file
            $0.added = keys(.added)
            $0.removed = keys(.removed)
            $0.changed = keys(.changed)
            $0.mistakes = mistakes.map(\.line)
            $0.restart = restarts.map { restart in
                RequiredRestartMessage {
                    $0.key = restart.key
                    $0.reason = restart.reason
                }
            }
        }
    }

    /// The keys of these changes by kind, for the log.
    var metadata: Logger.Metadata {
        var values: Logger.Metadata = [:]
        for kind in ConfigurationChange.Kind.allCases {
            let keys = keys(kind)
            if !keys.isEmpty { values[kind.rawValue] = "\(keys.joined(separator: " "))" }
        }
        return values
    }

    private func keys(_ kind: ConfigurationChange.Kind) -> [String] {
        changes.filter { $0.kind == kind }.map(\.key)
    }
}

/// An error in the configuration that excludes one session; all other sessions are loaded.
package struct SessionConfigurationError: Equatable, Sendable {
    /// The session, or `nil` if it is not known or if there may be several.
    package var session: SessionName?
    /// The location and the error: `FILE:LINE: KEY: MESSAGE`.
    package var line: String

    package init(session: SessionName?, line: String) {
        self.session = session
        self.line = line
    }
}
