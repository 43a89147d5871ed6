// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import Glibc
import Text

/// Reads the configuration and says what is wrong with it, or that nothing is.
enum ConfigurationCheck {
    /// Prints lines for a person, or one JSON object; mistakes end the process with their exit status.
    static func run(_ places: Places, asJSON: Bool) throws(StartFailure) {
        let path = places.configuration.path
        do throws(ConfigurationProblems) {
            let count = try places.configuration.settings(home: places.home).sessions.count
            guard asJSON else {
                return Console.write(
                    "\(path): \(count) session\(count == 1 ? "" : "s"), no mistakes\n"
                )
            }
            print(report(path, sessions: Int64(count), problems: []))
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
            $0.line = line.map { Int64($0) }
            $0.key = key.isEmpty ? nil : key
            $0.message = message
        }
    }
}
