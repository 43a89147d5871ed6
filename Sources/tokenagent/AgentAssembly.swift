// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import CHardening
import CommandExecution
import Logging
import NIOCore
import NIOPosix
import OAuthClient
import SealedStore
import TokenCore

/// Joins configuration, store, client and server into one agent.
struct AgentAssembly {
    let logger: Logger
    private let settings: Settings
    private let configuration: AgentConfiguration
    private let group: MultiThreadedEventLoopGroup
    private let ports: AgentPorts
    private let control: StoreControl
    private let hooks: EventHooks
    private let servers: AuthorizationServers

    /// Prepares everything up to the moment the socket may be opened; the store is this process's then.
    init(
        _ options: StartOptions,
        _ places: Places,
        _ environment: [String: String],
        runner: Int32
    ) throws(StartFailure) {
        settings = try AgentAssembly.settings(places)
        // In the background nobody reads on once the start is done: what went well is not worth a line.
        let configured = options.readiness == nil ? settings.logLevel : .warning
        let logger = AgentAssembly.logger(options.logLevel ?? configured, environment)
        self.logger = logger
        let directory = try AgentAssembly.storing { () throws(StoreError) in
            try StoreDirectory(places.stateDirectory, allowsNetwork: options.allowsNetworkStore)
        }
        let vault = try AgentAssembly.vault()
        let timekeeper = SystemTimekeeper()
        let store = try AgentAssembly.store(directory, places, vault, timekeeper, logger)
        try AgentAssembly.createVault(in: store, settings.vault, logger)

        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        let commands = try AgentAssembly.commands(runner, loop)
        hooks = EventHooks(commands: commands, logger: logger)
        servers = AuthorizationServers(
            profiles: [:],
            vault: vault,
            timekeeper: timekeeper,
            commands: commands,
            eventLoopGroup: group
        )
        let inForce = ConfigurationInForce(
            file: places.configuration,
            home: places.home,
            vault: vault,
            servers: servers,
            hooks: hooks,
            logger: logger
        )
        control = StoreControl(
            store: store,
            secrets: ExternalSecrets(
                commands: commands,
                eventLoop: loop,
                credentials: environment["CREDENTIALS_DIRECTORY"],
                logger: logger
            ),
            maintenance: StoreMaintenance(store: store, eventLoop: loop, pool: pool),
            onUnlock: { inForce.restoreSecrets() }
        )
        AgentAssembly.unlock(control, logger)
        configuration = try AgentAssembly.adopt(settings, inForce)
        let diagnostics = Diagnostics(
            control: control,
            configuration: inForce,
            timekeeper: timekeeper,
            eventLoop: loop
        )
        ports = AgentPorts(
            timekeeper: timekeeper,
            authorization: servers,
            store: control,
            vault: vault,
            commands: commands,
            configuration: inForce,
            diagnostics: diagnostics,
            observer: hooks,
            logger: logger
        )
    }

    /// One line for the service manager.
    var summary: String {
        let count = settings.sessions.count
        let sessions = "\(count) session\(count == 1 ? "" : "s")"
        return control.store.state == .unlocked ? sessions : "\(sessions), locked"
    }

    /// Begins to serve on `socket`.
    func start(on socket: ListeningSocket) throws(StartFailure) -> RunningAssembly {
        let isMemoryLocked = try checkMemory()
        let identity = AgentIdentity(
            version: AgentRelease.version,
            isMemoryLocked: isMemoryLocked,
            store: control.store.stateDirectory
        )
        let runtime = AgentRuntime(
            configuration: configuration,
            ports: ports,
            identity: identity,
            group: group
        )
        let started = group.next().makeFutureWithTask { try await runtime.start(on: socket) }
        do {
            try started.wait()
        } catch {
            throw StartFailure(.internal, "can not serve: \(error)")
        }
        Task { [hooks] in await hooks.work() }
        logger.notice(
            "ready",
            metadata: ["sessions": "\(settings.sessions.count)", "version": "\(AgentRelease.version)"]
        )
        return RunningAssembly(runtime: runtime, servers: servers, store: control.store)
    }

    /// libsodium gives unlocked memory without a word when the limit is used up.
    private func checkMemory() throws(StartFailure) -> Bool {
        guard hardening_locked_kilobytes() <= 0 else { return true }
        guard !settings.vault.requiresLockedMemory else {
            throw StartFailure(
                .misconfigured,
                "memory for keys can not be locked; raise RLIMIT_MEMLOCK or unset vault.require_locked_memory"
            )
        }
        logger.warning("memory for keys can not be locked and may be swapped out; raise RLIMIT_MEMLOCK")
        return false
    }
}

/// An agent that serves.
struct RunningAssembly: Sendable {
    let runtime: AgentRuntime
    let servers: AuthorizationServers
    let store: SessionStore

    /// Finishes what is in flight and lets another agent use the store.
    func stop() async {
        await runtime.shutdown()
        store.close()
    }
}
