// SPDX-License-Identifier: MIT

import Synchronization
import TOML
import TokenCore

/// An error in the configuration: its position, its key, and a message that says what is accepted.
package struct ConfigurationProblem: Error, Hashable, Sendable {
    /// The file or directory with the error, or `nil` if it is the configuration file itself.
    package var file: String?
    /// The line, counted from 1, or `nil` if the error concerns the whole file.
    package var line: Int?
    /// The dotted key, such as `session.work.issuer`; empty if the error concerns no key.
    package var key: String
    /// A clause for the user, such as "must be a string, not an integer", with its remedy in parentheses.
    package var message: String
    /// The session that is unavailable because of the error, if nothing else is.
    package var session: SessionName?

    package init(
        file: String? = nil,
        line: Int? = nil,
        key: String = "",
        message: String,
        session: SessionName? = nil
    ) {
        self.file = file
        self.line = line
        self.key = key
        self.message = message
        self.session = session
    }

    /// Formats the error on one line like a compiler: `FILE:LINE: KEY: MESSAGE`.
    ///
    /// - Parameter file: the path of the configuration file.
    /// - Returns: the line.
    package func description(in file: String) -> String {
        let file = self.file ?? file
        let place = line.map { "\(file):\($0)" } ?? file
        return key.isEmpty ? "\(place): \(message)" : "\(place): \(key): \(message)"
    }
}

/// All errors of a configuration, in the order of its lines.
package struct ConfigurationProblems: Error, Equatable, Sendable {
    package let file: String
    package let problems: [ConfigurationProblem]

    package init(file: String, problems: [ConfigurationProblem]) {
        self.file = file
        self.problems = problems
    }

    /// The messages, one line per error.
    package var lines: [String] { problems.map { $0.description(in: file) } }
}

/// A collector of problems, so that all are reported and not only the first.
///
/// Safe to call from any thread.
package final class ProblemCollector: Sendable {
    private let found = Mutex<Set<ConfigurationProblem>>([])
    /// The ``ConfigurationProblem/file`` of all problems in this list.
    private let file: String?
    private let session: SessionName?

    package init(file: String? = nil, session: SessionName? = nil) {
        self.file = file
        self.session = session
    }

    package var isEmpty: Bool { found.withLock(\.isEmpty) }

    /// Adds a problem of `session`, by default of the list's session.
    package func add(
        _ key: String,
        at position: TOMLPosition?,
        _ message: String,
        about session: SessionName? = nil
    ) {
        let problem = ConfigurationProblem(
            file: file,
            line: position?.line,
            key: key,
            message: message,
            session: session ?? self.session
        )
        _ = found.withLock { $0.insert(problem) }
    }

    /// Adds all problems of `other`.
    package func add(_ other: ProblemCollector) {
        let others = other.found.withLock(\.self)
        if !others.isEmpty { found.withLock { $0.formUnion(others) } }
    }

    package var inOrder: [ConfigurationProblem] {
        found.withLock(\.self).sorted {
            ($0.line ?? 0, $0.key, $0.message) < ($1.line ?? 0, $1.key, $1.message)
        }
    }
}
