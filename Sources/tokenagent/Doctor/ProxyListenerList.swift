// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import CommandExecution
import Glibc
import ServerSettings
import Text
import TokenCore

/// The output of what other programs need to connect to servers, and nothing else of the configuration: the
/// tables `[[proxy]]` and `[[endpoint]]` for `tokenctl proxy`, and a forward proxy for `tokenctl mcp connect`.
struct ProxyListenerList {
    /// The maximum run time of the program that prints credentials for a forward proxy.
    private static let commandTimeLimit: Duration = .seconds(10)

    private let options: StartOptions
    private let places: AgentLocations
    private let environment: [String: String]
    private let variables: ProxyVariables

    init(_ options: StartOptions, _ environment: [String: String]) throws(StartFailure) {
        self.options = options
        self.environment = environment
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

    /// Writes the forward proxy for `server` with its credentials as one line of JSON, whose object is empty
    /// without a proxy.
    ///
    /// - Throws: ``StartFailure`` if the configuration has an error.
    func printProxy(for server: String) throws(StartFailure) {
        try ProcessHardening.refuseInspection()
        guard let address = ResourceAddress(server), let url = try? EndpointURL(server) else {
            throw StartFailure(.badRequest, "--show-proxy requires a URL")
        }
        var message = ProxyListenerMessage()
        do throws(ConfigurationProblems) {
            let setting = try clientSettings().proxy(for: address)
            try ProxyListenerList.naming(places.configuration.path) { () throws(ConfigurationProblem) in
                try setting.fill(&message, for: url, variables, output)
            }
        } catch {
            throw StartFailure(error)
        }
        Console.write(message.json.text + "\n")
    }

    /// Reads the configuration for a client, whose socket may be one of the tables `[[socket]]`.
    private func clientSettings() throws(ConfigurationProblems) -> Settings {
        let file = places.configuration
        return try ConfigurationFile(path: file.path, mustExist: file.mustExist).settings(home: places.home)
    }

    private func listeners() throws(StartFailure) -> [ProxyListenerMessage] {
        let settings: Settings
        do throws(ConfigurationProblems) {
            if let text = options.listener {
                var listener = try SettingsReader(home: places.home).proxy(text)
                listener.proxy = try clientSettings().proxy(of: listener.session)
                return [try fill(listener, isConfigured: false)]
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

    /// Fills in the contents of files and the forward proxy.
    ///
    /// `isConfigured` means that the listener is configured, not from the command line.
    private func fill(
        _ listener: ProxyListenerSettings,
        isConfigured: Bool
    ) throws(ConfigurationProblems) -> ProxyListenerMessage {
        let file = isConfigured ? places.configuration.path : ""
        return try ProxyListenerList.naming(file, isConfigured ? listener.title : nil) {
            () throws(ConfigurationProblem) in
            try listener.filled(variables, output)
        }
    }

    /// Adds the `file` and the `title` of a table to the error of `read`.
    private static func naming<Value>(
        _ file: String,
        _ title: String? = nil,
        _ read: () throws(ConfigurationProblem) -> Value
    ) throws(ConfigurationProblems) -> Value {
        do throws(ConfigurationProblem) {
            return try read()
        } catch {
            var problem = error
            if let title { problem.key = "\(title): \(error.key)" }
            throw ConfigurationProblems(file: file, problems: [problem])
        }
    }

    /// Returns the output of a program that prints credentials.
    private func output(of command: [String]) throws(CommandFailure) -> [UInt8] {
        var output = RunningProgram.Output()
        let status: Int32
        do throws(ProgramFailure) {
            let inherited = EnvironmentFilter.forCommands(environment)
            let program = try RunningProgram.start(command, environment: [:], inheriting: inherited)
            status = try program.finish(within: ProxyListenerList.commandTimeLimit, into: &output)
        } catch {
            throw CommandFailure(message: error.message)
        }
        guard status == 0 else {
            let complaint = StandardErrorLine(standardError: output.errors, standardOutput: output.standard)
            throw CommandFailure(
                CommandResult(status: status, standardOutput: [], complaint: complaint),
                of: command
            )
        }
        return output.standard
    }
}

extension StartFailure {
    fileprivate init(_ code: FailureCode, lines: [String]) {
        self.init(code, lines.first ?? "")
        self.lines = lines
    }
}
