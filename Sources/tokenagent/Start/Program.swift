// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import CommandExecution
import Glibc

/// The program `tokenagent`, which parses the command line and runs what it requests.
///
/// - Entry points: ``run()``. The agent itself is ``ForegroundAgent``, whose parts are joined by
///   ``AgentAssembly``.
/// - Order: the process that runs commands starts before the agent holds secrets, and the sandbox is entered
///   before a second thread starts.
/// - May not: decide about sessions or requests, which is the part of AgentServer and TokenCore.
enum Program {
    static func run() -> Never {
        do throws(StartFailure) {
            try be(StartOptions(commandLine: CommandLine.arguments))
            exit(0)
        } catch {
            Console.tell(error)
            exit(error.code.exitStatus)
        }
    }

    private static func be(_ options: StartOptions) throws(StartFailure) {
        // An agent removes secrets from the environment before anything copies it.
        let workflow = options.form == .foreground ? GitHubActionsVariables() : nil
        let environment = CurrentProcess.current
        if let objection = ProcessHardening.objection(allowsRoot: options.allowsRoot) {
            throw StartFailure(.denied, objection)
        }
        switch options.form {
        case .help: Console.write(StartHelp.text)
        case .version: Console.write("tokenagent \(AgentRelease.version)\n")
        case .checkConfiguration:
            try ConfigurationCheck(options, AgentLocations(options, environment)).run()
        case .checkStore: try OpenedStore.check(options, AgentLocations(options, environment))
        case .listCommands: try CommandTable.list(AgentLocations(options, environment))
        case .removeTokenFiles: try TokenFileCleanup.remove(AgentLocations(options, environment))
        case .listListeners: try ProxyListenerList(options, environment).print()
        case .listProviders:
            let places = try AgentLocations(options, environment)
            ProviderListOutput.print(options.provider, beside: places.configuration.path)
        case .showProxy(let server): try ProxyListenerList(options, environment).printProxy(for: server)
        case .makeFleetKey(let name, let file): try FleetKeyOperations(path: file).make(name)
        case .renewFleetKey(let file): try FleetKeyOperations(path: file).rotate(.replace)
        case .stageFleetKey(let file): try FleetKeyOperations(path: file).rotate(.stage)
        case .activateFleetKey(let file): try FleetKeyOperations(path: file).rotate(.activate)
        case .stop:
            try DiscoveredAgent.stop(AgentLocations(options, environment))
            Console.write(syntax(options, environment).forgettingCommands)
        case .foreground: try ForegroundAgent.run(options, environment, workflow)
        case .background:
            let places = try AgentLocations(options, environment)
            let agent = try BackgroundStart(options, places, environment).start()
            let commands = syntax(options, environment).commands(socket: agent.socket, pid: agent.pid)
            Console.write(commands)
        case .around(let command):
            try CommandStart(options, AgentLocations(options, environment), environment).run(command)
        }
    }

    private static func syntax(_ options: StartOptions, _ environment: [String: String]) -> ShellSyntax {
        options.syntax ?? ShellSyntax(shell: environment["SHELL"])
    }
}

extension StartOptions {
    fileprivate init(commandLine: [String]) throws(StartFailure) {
        do throws(UsageError) {
            try self.init(Array(commandLine.dropFirst()), in: CurrentProcess.workingDirectory)
        } catch {
            throw StartFailure(error)
        }
    }
}
