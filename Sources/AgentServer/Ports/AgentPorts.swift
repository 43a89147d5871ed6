// SPDX-License-Identifier: MIT

import Logging
import SealedStore
import TokenCore

/// Everything the agent needs from outside, joined by the program.
package struct AgentPorts: Sendable {
    package var timekeeper: any Timekeeper
    package var authorization: any AuthorizationServing
    package var store: any StoreControlling
    package var memory: SealedMemory
    package var commands: any CommandRunning
    /// Runs programs that print secrets, each only once at a time.
    package var secretCommands: any CommandRunning
    /// `nil` if nothing can be found out about peers; rules that name a program or a unit then fit nobody.
    package var processes: (any ProcessExamining)?
    package var configuration: any ConfigurationProviding
    package var diagnostics: any DiagnosticsProviding
    package var observer: any EventObserving
    /// The store that the hosts of a fleet share; `nil`: this host is in none.
    package var fleet: FleetPort?
    package var logger: Logger
    /// Draws a random number from `0..<1`, evenly.
    package var chance: @Sendable () -> Double
    /// Called on the event loop, which it must not hold up, when the agent has come to rest, and
    /// when something has disturbed that rest without being work.
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
        fleet: FleetPort? = nil,
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

/// What `GET /v1` says about the program.
package struct AgentIdentity: Equatable, Sendable {
    package var version: String
    /// Whether keys are in locked memory.
    package var isMemoryLocked: Bool
    /// Where the sealed store is.
    package var store: String

    package init(version: String, isMemoryLocked: Bool, store: String) {
        self.version = version
        self.isMemoryLocked = isMemoryLocked
        self.store = store
    }
}
