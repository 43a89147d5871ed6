// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import TokenCore

/// How a configuration differs from the one before it.
package struct ConfigurationChanges: Equatable, Sendable {
    /// Something that the running agent cannot take over.
    package struct Restart: Equatable, Sendable {
        /// As in ``ConfigurationChange/key``.
        package var key: String
        package var session: SessionName?
        /// Why, as a clause for a person.
        package var reason: String

        package init(_ key: String, session: SessionName? = nil, reason: String) {
            self.key = key
            self.session = session
            self.reason = reason
        }
    }

    /// The file that was read.
    package var file: String
    package var changes: [ConfigurationChange]
    package var restarts: [Restart]
    /// All there are now.
    package var mistakes: [SessionConfigurationError]
    /// Whether there were other mistakes before, or none.
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

    /// Whether all is as it was.
    package var isEmpty: Bool { changes.isEmpty && restarts.isEmpty && !hasOtherMistakes }

    /// These changes without those about hidden sessions.
    func limited(to isShown: (SessionName) -> Bool) -> ConfigurationChanges {
        var limited = self
        limited.changes.removeAll { $0.session.map(isShown) == false }
        limited.restarts.removeAll { $0.session.map(isShown) == false }
        return limited
    }

    /// What differs, in one clause: "added session.z; changed session.work.ca_file".
    package var summary: String {
        ConfigurationChange.Kind.allCases.compactMap { kind in
            let keys = keys(kind)
            return keys.isEmpty ? nil : "\(kind.rawValue) \(keys.joined(separator: ", "))"
        }
        .joined(separator: "; ")
    }

    /// The answer with these changes, still without the number of sessions.
    var wire: ReloadMessage {
        ReloadMessage {
            $0.file = file
            $0.added = keys(.added)
            $0.removed = keys(.removed)
            $0.changed = keys(.changed)
            $0.mistakes = mistakes.map(\.line)
            $0.restart = restarts.map { restart in
                RestartMessage {
                    $0.key = restart.key
                    $0.reason = restart.reason
                }
            }
        }
    }

    /// These changes for the log.
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

/// Something that keeps one session from being taken over, while all else is.
package struct SessionConfigurationError: Equatable, Sendable {
    /// `nil`: it is not known which, or there may be several.
    package var session: SessionName?
    /// Where and what it is: `FILE:LINE: KEY: MESSAGE`.
    package var line: String

    package init(session: SessionName?, line: String) {
        self.session = session
        self.line = line
    }
}
