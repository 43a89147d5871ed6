// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import Glibc
import Text

/// Reads the configuration and says what is wrong with it, or that nothing is.
///
/// The number of sessions is there if an agent would start: a mistake in a file beside costs that one's session.
enum ConfigurationCheck {
    /// Prints lines for a person, or one JSON object; mistakes end the process with their exit status.
    static func run(_ places: Places, asJSON: Bool) throws(StartFailure) {
        let path = places.configuration.path
        do throws(ConfigurationProblems) {
            let settings = try places.configuration.settings(home: places.home)
            let count = settings.sessions.count
            if asJSON {
                print(report(path, sessions: Int64(count), problems: settings.mistakes))
            } else if settings.mistakes.isEmpty {
                Console.write("\(path): \(count) session\(count == 1 ? "" : "s"), no mistakes\n")
            } else {
                throw ConfigurationProblems(file: path, problems: settings.mistakes)
            }
            guard settings.mistakes.isEmpty else { exit(FailureCode.misconfigured.exitStatus) }
        } catch {
            guard asJSON else { throw StartFailure(error) }
            print(report(path, sessions: nil, problems: error.problems))
            exit(FailureCode.misconfigured.exitStatus)
        }
    }

    private static func report(
        _ path: String,
        sessions: Int64?,
        problems: [ConfigurationProblem]
    ) -> ConfigurationMessage {
        ConfigurationMessage {
            $0.file = path
            $0.isGood = problems.isEmpty
            $0.sessions = sessions
            $0.problems = problems.map(\.wire)
        }
    }

    private static func print(_ report: ConfigurationMessage) {
        Console.write(report.json.text + "\n")
    }
}

extension ConfigurationProblem {
    fileprivate var wire: ProblemMessage {
        ProblemMessage {
            $0.file = file
            $0.line = line.map { Int64($0) }
            $0.key = key.isEmpty ? nil : key
            $0.message = message
        }
    }
}
