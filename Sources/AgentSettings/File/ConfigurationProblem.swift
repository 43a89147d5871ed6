// SPDX-License-Identifier: MIT

import Synchronization
import TOML
import TokenCore

/// One thing to fix in the configuration: where it is, which key, what is wrong and what to write instead.
package struct ConfigurationProblem: Error, Hashable, Sendable {
    /// The file or directory beside the configuration file; `nil`: that file itself.
    package var file: String?
    /// Counted from 1; `nil` when the file as a whole is meant.
    package var line: Int?
    /// Dotted, as `session.work.issuer`; empty when no key is meant.
    package var key: String
    /// A clause for a person: "must be a string, not an integer".
    package var message: String
    /// The session that it costs, where that is all it costs.
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

    /// The problem on one line, in the manner of a compiler: `FILE:LINE: KEY: MESSAGE`.
    ///
    /// - Parameter file: the configuration file.
    /// - Returns: the line.
    package func description(in file: String) -> String {
        let file = self.file ?? file
        let place = line.map { "\(file):\($0)" } ?? file
        return key.isEmpty ? "\(place): \(message)" : "\(place): \(key): \(message)"
    }
}

/// Everything wrong with a configuration, in the order of its lines.
package struct ConfigurationProblems: Error, Equatable, Sendable {
    package let file: String
    package let problems: [ConfigurationProblem]

    package init(file: String, problems: [ConfigurationProblem]) {
        self.file = file
        self.problems = problems
    }

    /// One line per problem.
    package var lines: [String] { problems.map { $0.description(in: file) } }
}

/// Collects problems while a configuration is read, so that all are reported and not only the first; on any thread.
final class ProblemList: Sendable {
    private let found = Mutex<Set<ConfigurationProblem>>([])
    /// As in ``ConfigurationProblem``, for all of the list.
    private let file: String?
    private let session: SessionName?

    init(file: String? = nil, session: SessionName? = nil) {
        self.file = file
        self.session = session
    }

    var isEmpty: Bool { found.withLock(\.isEmpty) }

    /// Adds a problem; one of a list for several sessions may be about one of them.
    func add(
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
    func add(_ other: ProblemList) {
        let others = other.found.withLock(\.self)
        if !others.isEmpty { found.withLock { $0.formUnion(others) } }
    }

    var inOrder: [ConfigurationProblem] {
        found.withLock(\.self).sorted {
            ($0.line ?? 0, $0.key, $0.message) < ($1.line ?? 0, $1.key, $1.message)
        }
    }
}
