// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import CHardening
import CommandExecution
import Glibc

/// The start of an agent in the background, which waits until its socket answers.
///
/// Swift cannot fork, so the agent is this executable, started again in its foreground form and in a separate
/// session. It reports over a pipe that it is ready, or why it is not.
struct BackgroundStart {
    private let options: StartOptions
    private let places: AgentLocations
    private let environment: [String: String]
    /// Whether the agent ends when this process ends.
    private let endsWithParent: Bool

    init(
        _ options: StartOptions,
        _ places: AgentLocations,
        _ environment: [String: String],
        endsWithParent: Bool = false
    ) {
        self.options = options
        self.places = places
        self.environment = environment
        self.endsWithParent = endsWithParent
    }

    /// The report of a started agent that is ready.
    ///
    /// Any other text is the reason it is not.
    static let ready = "ready\n"
    /// The descriptor of the pipe in the started agent.
    private static let readiness: Int32 = 3
    /// The maximum time to wait for another agent to answer or to stop: 25 seconds.
    private static let timeout = Duration.seconds(25)

    /// Returns the agent of the store: the running one, or a new one.
    ///
    /// - Throws: ``StartFailure`` if a new agent does not become ready.
    func start() throws(StartFailure) -> DiscoveredAgent {
        if let agent = try running() {
            return told(agent)
        }
        while true {
            let started = try spawn()
            if started.report == BackgroundStart.ready, let agent = try running() { return agent }
            guard started.status == FailureCode.temporarilyUnavailable.exitStatus else {
                throw failure(started)
            }
            // The agent that holds the store was started at the same moment and has no socket yet, or it is
            // stopping.
            if let agent = try awaitOther() { return told(agent) }
            if StoreHolderLookup.exists(places.stateDirectory) { throw failure(started) }
        }
    }

    /// Prints that an agent is already running, with its socket if that is not the expected one.
    private func told(_ agent: DiscoveredAgent) -> DiscoveredAgent {
        let place = agent.socket == places.socket ? "" : " at \(agent.socket)"
        Console.tell("already running\(place) (process \(agent.pid))")
        return agent
    }

    /// Returns the agent at the socket, or the one elsewhere that uses the store, or `nil` if there is none.
    private func running() throws(StartFailure) -> DiscoveredAgent? {
        do throws(AgentError) {
            guard let agent = try DiscoveredAgent.find(socket: places.socket) else {
                return StoreHolderLookup.agent(of: places.stateDirectory)
            }
            guard agent.uses(places.stateDirectory) else {
                throw AgentError(
                    .internal,
                    "the agent at \(places.socket) uses another store, \(agent.stateDirectory)",
                    remedy: .set("-a to another socket")
                )
            }
            return agent
        } catch {
            throw StartFailure(error)
        }
    }

    /// Waits until the other agent answers or has ended.
    ///
    /// - Returns: The agent, or `nil` if it has ended.
    private func awaitOther() throws(StartFailure) -> DiscoveredAgent? {
        let deadline = ContinuousClock.now + BackgroundStart.timeout
        while ContinuousClock.now < deadline {
            if let agent = try running() { return agent }
            guard StoreHolderLookup.exists(places.stateDirectory) else { return nil }
            usleep(20_000)
        }
        return nil
    }

    private func failure(_ started: (report: String, status: Int32)) -> StartFailure {
        let lines = started.report.split(separator: "\n").map(String.init)
        let code = FailureCode.allCases.first { $0.exitStatus == started.status } ?? .internal
        var failure = StartFailure(code, "the agent exited before it was ready")
        if !lines.isEmpty, started.report != BackgroundStart.ready { failure.lines = lines }
        return failure
    }

    private func spawn() throws(StartFailure) -> (report: String, status: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe hardening_pipe(&ends) == 0 else { throw .system("create a pipe") }
        defer { close(ends[0]) }
        let start = ProgramStart(
            executable: CurrentProcess.executable,
            arguments: arguments,
            environment: EnvironmentFilter.forBackground(environment),
            descriptors: [2: 2, BackgroundStart.readiness: ends[1]],
            placement: .ownSession,
            directory: "/"
        )
        let child: pid_t
        do throws(ProgramFailure) {
            child = try start.start()
        } catch {
            close(ends[1])
            throw StartFailure(.internal, error.message)
        }
        close(ends[1])
        let report = DescriptorIO.readAll(ends[0])
        guard report != BackgroundStart.ready else { return (report, 0) }
        return (report, status(of: child))
    }

    private var arguments: [String] {
        var arguments = ["tokenagent", "--foreground", "--readiness-fd=\(BackgroundStart.readiness)"]
        arguments += ["--socket=\(places.socket)", "--state-dir=\(places.stateDirectory)"]
        if let file = options.configuration { arguments.append("--config=\(file)") }
        if let level = options.logLevel { arguments.append("--log-level=\(level.rawValue)") }
        if options.allowsRoot { arguments.append("--allow-root") }
        if options.allowsNetworkStore { arguments.append("--allow-network-store") }
        if endsWithParent { arguments.append("--parent=\(getpid())") }
        return arguments
    }

    private func status(of child: pid_t) -> Int32 {
        let status = hardening_await(child)
        // 128 and more mean a signal, and less than 0 no child. Neither is an exit status of an agent.
        return (0..<128).contains(status) ? status : FailureCode.internal.exitStatus
    }
}
