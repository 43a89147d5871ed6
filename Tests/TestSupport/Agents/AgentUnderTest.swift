// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import Text

/// The real agent and its real client in an isolated environment.
///
/// The home, configuration, state and runtime directories are in one temporary directory. Nothing of the user
/// who runs the tests is read or written.
package final class AgentUnderTest: Sendable {
    package let home: TemporaryDirectory
    package let environment: [String: String]
    private let running = Mutex<Program?>(nil)
    private let ended = Mutex<[Program]>([])

    /// Creates the directories and writes `configuration`, without starting the agent.
    package init(configuration: String = "", in parent: String? = nil) throws {
        home = try TemporaryDirectory(in: parent)
        for name in ["run", "config", "config/tokenagent", "state"] { try home.makeDirectory(name) }
        let browser = try home.write(Self.browserScript, to: "browser", mode: 0o700)
        environment = [
            "HOME": home.path,
            "PATH": "\(BuiltPrograms.directory):\(ToolDirectory.path)",
            "LANG": "C.UTF-8",
            // git must not read this machine's system-wide configuration.
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_CONFIG_HOME": home.path("config"),
            "XDG_STATE_HOME": home.path("state"),
            "XDG_RUNTIME_DIR": home.path("run"),
            "TOKENAGENT_AUTOSTART": "0",
            "BROWSER": browser,
        ]
        try configure(configuration)
    }

    deinit {
        // The agent must end before its home is removed, because it would create directories again.
        defer { running.withLock { $0 = nil } }
        // A background agent is not a child of this process, so its process is found by its socket.
        if let pid = SocketOwner.pid(socketPath), pid != agent?.pid { systemKill(pid, SIGKILL) }
    }

    /// A browser without a user, which fetches a URL and follows its redirects.
    private static let browserScript = """
        #!/bin/sh
        exec curl --silent --location --insecure --max-time 20 --output /dev/null "$1"

        """

    package var configurationPath: String { home.path("config/tokenagent/config.toml") }
    package var statePath: String { home.path("state/tokenagent") }
    package var socketPath: String { home.path("run/tokenagent/agent.sock") }
    package var socket: ConnectedAgentSocket { ConnectedAgentSocket(path: socketPath) }

    /// Replaces the configuration file.
    package func configure(_ text: String) throws {
        try home.write(text, to: "config/tokenagent/config.toml")
    }

    /// Adds the command of an unlock method before the existing configuration.
    package func configure(unlockCommand words: [String]) throws {
        let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
        try configure("[vault]\nunlock_command = [\(list)]\n" + (File.text(configurationPath) ?? ""))
    }

    // MARK: The agent

    /// Starts the agent in the foreground and waits until its socket responds.
    package func start(
        _ arguments: String...,
        extraEnvironment: [String: String] = [:],
        wrapper: [String] = []
    ) async throws {
        let command = wrapper + [BuiltPrograms.agent, "--foreground"] + arguments
        let program = try Program(command, environment: merged(extraEnvironment))
        running.withLock { $0 = program }
        let isReady = try await Polling.until {
            if program.exitStatus != nil { return true }
            return (try? await socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
        }
        guard isReady, program.exitStatus == nil else {
            throw StuckProgram(
                name: command.joined(separator: " "),
                output: program.standardOutput,
                error: program.standardError
            )
        }
    }

    /// The foreground agent, or `nil` if none is running.
    package var agent: Program? { running.withLock { $0 } }

    /// The log output of all foreground agents so far.
    package var log: String {
        let earlier = ended.withLock { $0.map(\.standardError).joined() }
        return earlier + (agent?.standardError ?? "")
    }

    /// Kills the agent with SIGKILL and waits for its end.
    package func kill() async throws {
        try await end(.kill)
    }

    /// Sends `signal` and waits for the end of the agent.
    ///
    /// - Returns: the exit status.
    @discardableResult
    package func end(
        _ signal: Signal = .terminate,
        within limit: Duration = .seconds(25)
    ) async throws -> Int32 {
        guard let program = running.withLock({ $0 }) else { return -1 }
        program.signal(signal)
        let status = try await program.finish(within: limit).status
        running.withLock { $0 = nil }
        ended.withLock { $0.append(program) }
        return status
    }

    // MARK: The client

    /// Runs `tokenctl` to its end.
    package func tokenctl(
        _ arguments: String...,
        input: String = "",
        extraEnvironment: [String: String] = [:],
        within limit: Duration = .seconds(60)
    ) async throws -> ProgramResult {
        try await tokenctl(arguments, input: input, extraEnvironment: extraEnvironment, within: limit)
    }

    /// Runs `tokenctl` to its end.
    package func tokenctl(
        _ arguments: [String],
        input: String = "",
        extraEnvironment: [String: String] = [:],
        within limit: Duration = .seconds(60)
    ) async throws -> ProgramResult {
        try await startTokenctl(arguments, input: input, extraEnvironment: extraEnvironment)
            .finish(within: limit)
    }

    /// Starts `tokenctl` without waiting for its end.
    package func startTokenctl(
        _ arguments: [String],
        input: String = "",
        extraEnvironment: [String: String] = [:]
    ) throws -> Program {
        try Program(
            [BuiltPrograms.client] + arguments,
            environment: merged(extraEnvironment),
            input: input,
            hasTerminal: false
        )
    }

    /// Runs a shell command in this agent's environment.
    package func shell(_ script: String, within limit: Duration = .seconds(60)) async throws -> ProgramResult
    {
        try await Program(["/bin/sh", "-c", script], environment: environment, hasTerminal: false)
            .finish(within: limit)
    }

    /// Changes the store's unlock methods, proving knowledge of the key in its key file.
    ///
    /// The proof is added to `members`, a JSON object.
    package func changeVault(
        _ method: String,
        _ path: String,
        _ members: String = "{}"
    ) async throws -> ConnectedAgentSocket.Reply {
        let key = (File.bytes(statePath + "/keyfile") ?? []).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        let rest = members.dropFirst().dropLast()
        let body = #"{"unlock_key":"\#(key.joined())"\#(rest.isEmpty ? "" : ",")\#(rest)}"#
        return try await socket.request(method, "/v1/vault/" + path, body: body)
    }

    /// Returns the status of a session from the agent's socket.
    package func status(_ session: String) async throws -> JSONObject {
        try await socket.request("GET", "/v1/sessions/\(session)").json ?? JSONObject()
    }

    /// Waits until the session's state is `state`.
    package func reaches(
        _ state: String,
        _ session: String,
        within limit: Duration = .seconds(20)
    ) async throws
        -> Bool
    {
        try await Polling.until(within: limit) { try await status(session)["state"]?.string == state }
    }

    /// Waits until at least `count` requests in the agent wait for a refresh.
    package func hasWaiters(_ count: Int) async throws -> Bool {
        try await Polling.until {
            let text = try await socket.request("GET", "/v1/metrics").text
            let gauges = text.split(separator: "\n").filter { $0.hasPrefix("tokenagent_waiters") }
            let sum = gauges.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
            return sum >= Double(count)
        }
    }

    private func merged(_ extra: [String: String]) -> [String: String] {
        environment.merging(extra) { _, new in new }
    }
}

/// Calls `kill(2)`, whose name `AgentUnderTest.kill` hides.
private func systemKill(_ pid: pid_t, _ number: Int32) {
    kill(pid, number)
}
