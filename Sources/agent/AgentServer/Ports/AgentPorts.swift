// SPDX-License-Identifier: MIT

import Logging
import SecretMemory
import TokenCore

/// The agent's connections to the outside, provided by the program.
package struct AgentPorts: Sendable {
    package var timekeeper: any Timekeeper
    package var authorization: any AuthorizationServing
    package var store: any StoreControlling
    package var memory: SealedMemory
    package var commands: any CommandRunning
    /// The runner of programs that print secrets; it runs each of them only once at a time.
    package var secretCommands: any CommandRunning
    /// The inspector of peers' processes, or `nil` if there is none.
    ///
    /// Without it, rules that name a program or a unit match no peer.
    package var processes: (any ProcessExamining)?
    package var configuration: any ConfigurationProviding
    package var diagnostics: any DiagnosticsProviding
    package var observer: any EventObserving
    /// The fleet of this host, or `nil` if it is in none.
    package var fleet: FleetDependencies?
    package var logger: Logger
    /// The source of random numbers, evenly distributed in `0..<1`.
    var chance: @Sendable () -> Double
    /// The action when the agent has become idle, or when something other than work has interrupted that.
    ///
    /// It runs on the event loop and must not block.
    package var onQuiet: @Sendable () -> Void

    package init(
        timekeeper: any Timekeeper,
        authorization: any AuthorizationServing,
        store: any StoreControlling,
        memory: SealedMemory,
        commands: any CommandRunning,
        secretCommands: (any CommandRunning)? = nil,
        processes: (any ProcessExamining)? = nil,
        configuration: any ConfigurationProviding,
        diagnostics: any DiagnosticsProviding,
        observer: any EventObserving,
        fleet: FleetDependencies? = nil,
        logger: Logger,
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        onQuiet: @escaping @Sendable () -> Void = {}
    ) {
        self.timekeeper = timekeeper
        self.authorization = authorization
        self.store = store
        self.memory = memory
        self.commands = commands
        self.secretCommands = secretCommands ?? commands
        self.processes = processes
        self.configuration = configuration
        self.diagnostics = diagnostics
        self.observer = observer
        self.fleet = fleet
        self.logger = logger
        self.chance = chance
        self.onQuiet = onQuiet
    }
}

/// The program's description in the response to `GET /v1`.
package struct AgentDescription: Equatable, Sendable {
    package var version: String
    /// Whether keys are in locked memory.
    package var isMemoryLocked: Bool
    /// The path of the sealed store.
    package var store: String
    /// The path of the configuration file.
    package var configuration: String
    /// The path of the agent's own socket.
    package var socket: String

    package init(
        version: String,
        isMemoryLocked: Bool,
        store: String,
        configuration: String,
        socket: String
    ) {
        self.version = version
        self.isMemoryLocked = isMemoryLocked
        self.store = store
        self.configuration = configuration
        self.socket = socket
    }
}
