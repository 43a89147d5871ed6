// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import Glibc
import ServerSettings

/// The output of the tables `[[proxy]]` and `[[endpoint]]`, and nothing else of the configuration, for
/// `tokenctl proxy`.
struct ListenerList {
    private let options: StartOptions
    private let places: AgentLocations
    private let variables: ProxyVariables

    init(_ options: StartOptions, _ environment: [String: String]) throws(StartFailure) {
        self.options = options
        places = try AgentLocations(options, environment)
        variables = ProxyVariables { environment[$0] }
    }

    /// Writes one line of JSON to standard output.
    ///
    /// - Throws: ``StartFailure`` if the configuration has an error.
    func print() throws(StartFailure) {
        // The configuration may contain a client secret.
        try ProcessHardening.refuseInspection()
        var message = ListenersSetupMessage()
        message.socket = places.socket
        message.listeners = try listeners()
        Console.write(message.json.text + "\n")
    }

    private func listeners() throws(StartFailure) -> [ListenerMessage] {
        let settings: Settings
        do throws(ConfigurationProblems) {
            if let text = options.listener {
                return [try fill(SettingsReader(home: places.home).proxy(text), isConfigured: false)]
            }
            settings = try places.configuration.settings(home: places.home)
        } catch {
            // An error on the command line has no position in a file.
            let lines = error.file.isEmpty ? error.problems.map { "\($0.key): \($0.message)" } : error.lines
            throw StartFailure(.misconfigured, lines: lines)
        }
        do throws(ConfigurationProblems) {
            return try settings.listeners.map { listener throws(ConfigurationProblems) in
                var message = try fill(listener, isConfigured: true)
                message.isConfigured = true
                return message
            }
        } catch {
            throw StartFailure(error)
        }
    }

    /// Fills in the proxy variables.
    ///
    /// `isConfigured` means that the listener is configured, not from the command line.
    private func fill(
        _ listener: ListenerSettings,
        isConfigured: Bool
    ) throws(ConfigurationProblems) -> ListenerMessage {
        do throws(ConfigurationProblem) {
            return try listener.filled(variables)
        } catch {
            guard isConfigured else { throw ConfigurationProblems(file: "", problems: [error]) }
            var problem = error
            problem.key = "\(listener.title): \(error.key)"
            throw ConfigurationProblems(file: places.configuration.path, problems: [problem])
        }
    }
}

extension StartFailure {
    fileprivate init(_ code: FailureCode, lines: [String]) {
        self.init(code, lines.first ?? "")
        self.lines = lines
    }
}
