// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import CHardening
import CommandExecution
import Glibc
import Logging
import Text

/// The agent process: it opens its store and its socket, then serves until it is told to stop.
enum ForegroundAgent {
    /// Runs until the process ends.
    ///
    /// - Throws: ``StartFailure`` if the agent does not become ready.
    static func run(
        _ options: StartOptions,
        _ environment: [String: String],
        _ workflow: GitHubActionsVariables?
    ) throws(StartFailure) {
        if SystemdUnit.isMainProcess(getpid(), environment) {
            AgentRestart.ofUnit = ProcessDirectory(getpid())?.unit?.restart
        }
        do throws(StartFailure) {
            try serve(options, environment, workflow)
        } catch {
            guard let readiness = options.readiness else { throw error }
            // The process that started this one tells the user, or knows that the error does not matter.
            DescriptorIO.write(error.lines.map { $0 + "\n" }.joined(), to: readiness)
            exit(error.code.exitStatus)
        }
    }

    private static func serve(
        _ options: StartOptions,
        _ environment: [String: String],
        _ workflow: GitHubActionsVariables?
    ) throws(StartFailure) -> Never {
        try ProcessHardening.refuseInspection()
        hardening_share_heap()
        try endWithParent(options)
        HandledSignals.block()
        let serviceManager = ServiceManagerConnection(environment)
        let inherited = try serviceManager.socket()
        var places = try AgentLocations(options, environment)
        if let path = inherited?.boundPath { places.socket = path }
        if inherited != nil { try StoreTakeover.run(places.stateDirectory) }
        let runner = try CommandRunnerStart.start(options, places, environment)
        CurrentProcess.keep(only: EnvironmentFilter.forAgent(environment))
        try ProcessHardening.refuseNewRights()
        if inherited == nil { try prepareDirectory(of: places.socket) }
        places.makeConfigurationDirectory()

        let assembly = try AgentAssembly(
            options,
            places,
            environment,
            workflow,
            runner: runner
        )
        let socket = if let inherited { inherited } else { try listen(at: places.socket) }
        ExecTokenDirectories.removeLeftovers(besideSocket: places.socket)
        let agent = try assembly.start(on: socket)
        if let readiness = options.readiness {
            DescriptorIO.leaveTerminal()
            DescriptorIO.write(BackgroundStart.ready, to: readiness)
            close(readiness)
        }
        let summary = assembly.summary
        serviceManager.notify("READY=1", "STATUS=\(summary)")
        Task {
            if await !agent.runtime.waitUntilOpened() { serviceManager.notify("STATUS=\(summary), locked") }
        }
        SignalLoop(agent: agent, serviceManager: serviceManager, logger: assembly.logger).run()
    }

    /// Makes the agent end with its parent.
    ///
    /// The kernel reports only a later end, so an earlier one is checked for afterwards.
    private static func endWithParent(_ options: StartOptions) throws(StartFailure) {
        guard let parent = options.parent else { return }
        guard hardening_signal_when_parent_ends(SIGTERM) == 0 else {
            throw .system("follow the parent process")
        }
        guard getppid() == parent else {
            throw StartFailure(.internal, "the command exited before the agent was ready")
        }
    }

    /// Creates the socket's directory, before the sandbox limits the agent to existing directories.
    private static func prepareDirectory(of socket: String) throws(StartFailure) {
        do throws(ListenFailure) {
            try ListeningSocket.prepareRestricted(socket, isOpenToOthers: false)
        } catch {
            throw StartFailure(error)
        }
    }

    private static func listen(at path: String) throws(StartFailure) -> ListeningSocket {
        do throws(ListenFailure) {
            return try ListeningSocket.bind(to: path)
        } catch {
            throw StartFailure(error)
        }
    }
}
