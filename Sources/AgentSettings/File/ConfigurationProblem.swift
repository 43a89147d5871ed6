// SPDX-License-Identifier: MIT

/// One thing to fix in the configuration: where it is, which key, what is wrong and what to write instead.
package struct ConfigurationProblem: Error, Hashable, Sendable {
    /// Counted from 1; `nil` when the file as a whole is meant.
    package var line: Int?
    /// Dotted, as `session.work.issuer`; empty when no key is meant.
    package var key: String
    /// A clause for a person: "must be a string, not an integer".
    package var message: String

    package init(line: Int? = nil, key: String = "", message: String) {
        self.line = line
        self.key = key
        self.message = message
    }

    /// The problem on one line, in the manner of a compiler: `FILE:LINE: KEY: MESSAGE`.
    package func description(in file: String) -> String {
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

/// Collects problems while a configuration is read, so that all are reported and not only the first.
final class ProblemList {
    private var found: Set<ConfigurationProblem> = []

    var isEmpty: Bool { found.isEmpty }

    func add(_ key: String, at position: TOMLPosition?, _ message: String) {
        found.insert(ConfigurationProblem(line: position?.line, key: key, message: message))
    }

    var inOrder: [ConfigurationProblem] {
        found.sorted { ($0.line ?? 0, $0.key, $0.message) < ($1.line ?? 0, $1.key, $1.message) }
    }
}
