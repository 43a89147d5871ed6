// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import Glibc
import Text

/// Reads the configuration and says what is wrong with it, or that nothing is.
enum ConfigurationCheck {
    /// Prints lines for a person, or one JSON object and leaves with the exit status.
    static func run(_ places: Places, asJSON: Bool) throws(StartFailure) {
        let path = places.configuration.path
        do throws(ConfigurationProblems) {
            let count = try places.configuration.settings(home: places.home).sessions.count
            guard asJSON else {
                return Console.write(
                    "\(path): \(count) session\(count == 1 ? "" : "s"), no mistakes\n"
                )
            }
            print(["file": .string(path), "ok": true, "sessions": .integer(count), "problems": []])
        } catch {
            guard asJSON else { throw StartFailure(error) }
            print(["file": .string(path), "ok": false, "problems": .array(error.problems.map(\.json))])
            exit(FailureCode.misconfigured.exitStatus)
        }
    }

    private static func print(_ report: JSONValue) {
        Console.write(report.text + "\n")
    }
}

extension ConfigurationProblem {
    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["line"] = line.map { .integer($0) }
        object["key"] = key.isEmpty ? nil : .string(key)
        object["message"] = .string(message)
        return .object(object)
    }
}
