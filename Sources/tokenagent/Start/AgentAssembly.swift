// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import CHardening
import CommandExecution
import Confinement
import ExchangeGuard
import Glibc
import Logging
import NIOCore
import OAuthClient
import SealedStore
import ServerSettings
import Text
import TokenCore

/// The assembly of configuration, store, OAuth client and server into one agent.
///
/// - Entry points: ``init(_:_:_:_:runner:)``, then ``start(on:)``.
/// - May not: open files outside the sandbox after the initializer has entered it.
struct AgentAssembly {
    let logger: Logger
    private let isMemoryLocked: Bool
    private let socket: String
    private let configuration: AgentConfiguration
    private let confinement: ConfinementReport
    private let threads: AgentThreads
    private let opened: OpenedStore
    private let hooks: EventHooks
    private let servers: AuthorizationServers
    private let control: StoreControl
    private let inForce: ActiveConfiguration
    /// The existing token files.
    private let fileLedger: TokenFileLedger
    /// This host's membership in its fleet, or `nil` if it is in none.
    private let membership: FleetStoreOpener?

    /// Prepares everything up to the moment when the socket may be opened.
    init(
        _ options: StartOptions,
        _ places: AgentLocations,
        _ environment: [String: String],
        _ workflow: GitHubActionsVariables?,
        runner: CommandRunnerStart.Sockets
    ) throws(StartFailure) {
        socket = places.socket
        let settings = try AgentAssembly.settings(places)
        let threshold = LogThreshold(commandLine: options.logLevel, configured: settings.logLevel)
        logger = AgentAssembly.logger(options, places, threshold, environment)
        opened = try OpenedStore(options, places, settings.vault, logger)
        isMemoryLocked = try AgentAssembly.checkMemory(settings.vault, logger)
        fileLedger = TokenFileLedger(stateDirectory: opened.store.stateDirectory)
        fileLedger.removeLeftovers(logger)
        let table = AgentAssembly.prepare(settings, runner.commands)
        let files = FileRules(places, settings, slots: opened.store.slots, environment)
        confinement = ProcessHardening.confine(to: files, logger)
        threads = try AgentThreads(runner: runner.commands, table: table)
        hooks = EventHooks(commands: threads.commands, desktop: DesktopSession(environment), logger: logger)
        servers = AgentAssembly.servers(opened, threads, workflow, environment, runner, logger)
        let commands = ConfiguredCommands(
            runner: threads.commands,
            eventLoop: threads.network,
            logger: logger
        )
        let inForce = ActiveConfiguration(
            file: places.configuration,
            home: places.home,
            memory: opened.memory,
            servers: servers,
            hooks: hooks,
            commands: commands,
            threshold: threshold,
            reach: SandboxWritableDirectories(files, confinement),
            logger: logger
        )
        self.inForce = inForce
        let secrets = ExternalSecrets(
            commands: threads.commands,
            eventLoop: threads.network,
            credentials: environment["CREDENTIALS_DIRECTORY"],
            hasSystemd: unsafe AgentRestart.ofUnit != nil || access("/run/systemd/system", F_OK) == 0,
            logger: logger,
            mayRun: commands.mayUnlock
        )
        membership = settings.fleet.map { [opened, threads] fleet in
            FleetStoreOpener(fleet, opened, threads, environment)
        }
        control = StoreControl(
            store: opened.store,
            secrets: secrets,
            maintenance: AgentAssembly.maintenance(of: opened.store, settings.vault, threads, logger),
            logger: logger
        ) { inForce.restoreSecrets() }
        // Checked before another store is opened automatically.
        let isNew = opened.store.state == .unlocked
        control.openAhead()
        configuration = try AgentAssembly.adopt(settings, inForce)
        // A new store whose counter fails is locked again. The next attempt to unlock it reports the error.
        if isNew { try? control.acceptCounter() }
    }

    /// Returns the authorization servers, none of which is configured yet.
    private static func servers(
        _ opened: OpenedStore,
        _ threads: AgentThreads,
        _ workflow: GitHubActionsVariables?,
        _ environment: [String: String],
        _ runner: CommandRunnerStart.Sockets,
        _ logger: Logger
    ) -> AuthorizationServers {
        AuthorizationServers(
            profiles: [:],
            memory: opened.memory,
            timekeeper: opened.timekeeper,
            commands: threads.secretCommands,
            registrations: ClientRegistrationStore(
                store: opened.store,
                pool: threads.pool,
                eventLoop: threads.network
            ),
            answers: ResponseRecordingProvider(store: opened.store, logger: logger),
            door: GuardStarterConnection(socket: runner.door),
            variables: ProxyVariables { environment[$0] },
            eventLoopGroup: threads.network,
            workflow: workflow?.identity(in: opened.memory),
            userAgent: "tokenagent/\(AgentRelease.version)"
        )
    }

    /// One line for the service manager.
    var summary: String {
        let count = configuration.sessions.count
        return "\(count) session\(count == 1 ? "" : "s")"
    }

    /// Starts to serve on `socket`.
    ///
    /// - Throws: ``StartFailure`` if the agent cannot serve.
    func start(on socket: ListeningSocket) throws(StartFailure) -> RunningAssembly {
        let identity = AgentDescription(
            version: AgentRelease.version,
            isMemoryLocked: isMemoryLocked,
            store: opened.store.stateDirectory,
            configuration: inForce.file.path,
            socket: self.socket
        )
        let runtime = RunningAgent(
            configuration: configuration,
            ports: ports,
            identity: identity,
            auditFile: AuditFile(path: opened.store.stateDirectory + "/audit.log"),
            fileLedger: fileLedger,
            reserve: reserve,
            loop: threads.loop
        )
        do {
            try threads.network.makeFutureWithTask { try await runtime.start(on: socket) }.wait()
        } catch {
            throw StartFailure(.internal, "cannot serve: \(error)")
        }
        Task { [hooks] in await hooks.work() }
        let count = configuration.sessions.count
        logger.notice("ready", metadata: ["sessions": "\(count)", "version": "\(AgentRelease.version)"])
        return RunningAssembly(
            runtime: runtime,
            servers: servers,
            store: opened.store,
            counter: control.counter
        )
    }

    /// The socket's path once the runtime directory is gone.
    ///
    /// Clients find it in the lock file.
    private var reserve: FallbackSocket {
        FallbackSocket(path: AgentPaths.socket(inState: opened.store.stateDirectory)) {
            [store = opened.store] in
            store.note(socket: $0)
        }
    }

    private var ports: AgentPorts {
        AgentPorts(
            timekeeper: opened.timekeeper,
            authorization: servers,
            store: control,
            memory: opened.memory,
            commands: threads.commands,
            secretCommands: threads.secretCommands,
            processes: threads.commands,
            configuration: inForce,
            diagnostics: Diagnostics(
                control: control,
                configuration: inForce,
                servers: servers,
                confinement: confinement,
                isMemoryLocked: isMemoryLocked,
                timekeeper: opened.timekeeper,
                eventLoop: threads.network
            ),
            observer: hooks,
            fleet: membership?.port(vault: opened.store.vaultID),
            logger: logger,
            // Most code is for starts, logins and refreshes, and an idle agent needs none of it.
            onQuiet: {
                hardening_release_heap()
                _ = hardening_release_code()
            }
        )
    }
}

extension TokenFileLedger {
    /// Removes files left by a killed agent, before any program takes them for tokens of this one.
    fileprivate func removeLeftovers(_ logger: Logger) {
        for line in removeFiles() {
            logger.warning("leftover token file not removed", metadata: ["file": "\(line)"])
        }
    }
}

// MARK: Steps

extension AgentAssembly {
    /// Returns whether key memory is locked: libsodium silently provides unlocked memory when the limit is
    /// used up.
    ///
    /// - Throws: ``StartFailure`` if the settings require locked memory.
    private static func checkMemory(_ settings: VaultSettings, _ logger: Logger) throws(StartFailure) -> Bool
    {
        guard hardening_locked_kilobytes() <= 0 else { return true }
        guard !settings.requiresLockedMemory else {
            throw StartFailure(
                .misconfigured,
                "cannot lock memory for keys",
                remedy: .set(
                    "ulimit -l, or LimitMEMLOCK= in the unit, to a higher limit, or vault.require_locked_memory to false"
                )
            )
        }
        let remedy = Remedy.setAndRestart("ulimit -l, or LimitMEMLOCK= in the unit, to a higher limit")
        logger.warning("memory for keys not locked \(remedy.parenthesized)")
        return false
    }

    /// Does what a sandboxed agent cannot do any more, and returns the configured commands.
    private static func prepare(_ settings: Settings, _ runner: Int32) -> CommandTable {
        for socket in settings.sockets {
            // An error is reported when the socket is opened.
            try? ListeningSocket.prepareRestricted(socket.path, for: socket.mode)
            ExecTokenDirectories.removeLeftovers(besideSocket: socket.path)
        }
        let table = CommandTable(settings)
        table.hand(to: runner)
        return table
    }

    private static func settings(_ places: AgentLocations) throws(StartFailure) -> Settings {
        do throws(ConfigurationProblems) {
            return try places.configuration.settings(home: places.home)
        } catch {
            throw StartFailure(error)
        }
    }

    private static func logger(
        _ options: StartOptions,
        _ places: AgentLocations,
        _ threshold: LogThreshold,
        _ environment: [String: String]
    ) -> Logger {
        let output: LineLogHandler.Output =
            options.readiness == nil
            ? .standardError(isJournal: environment["JOURNAL_STREAM"] != nil)
            : .background(SystemLog(stateDirectory: places.stateDirectory))
        return Logger(label: "tokenagent") { _ in LineLogHandler(threshold, to: output) }
    }

    private static func maintenance(
        of store: SessionStore,
        _ settings: VaultSettings,
        _ threads: AgentThreads,
        _ logger: Logger
    ) -> StoreMaintenanceSchedule {
        let program = RollbackCounterProgram(
            command: settings.rollbackCounter,
            accepted: settings.acceptedCounter,
            commands: threads.commands,
            eventLoop: threads.network
        )
        let counter = RollbackCounterUpdater(
            program: program,
            store: store,
            pool: threads.pool,
            logger: logger
        )
        return StoreMaintenanceSchedule(
            store: store,
            counter: counter,
            eventLoop: threads.network,
            pool: threads.pool
        )
    }

    private static func adopt(
        _ settings: Settings,
        _ inForce: ActiveConfiguration
    ) throws(StartFailure) -> AgentConfiguration {
        do throws(RequestFailure) {
            return try inForce.adopt(settings)
        } catch {
            throw StartFailure(error.code, error.message, remedy: error.remedy)
        }
    }
}

/// A serving agent.
struct RunningAssembly: Sendable {
    let runtime: RunningAgent
    let servers: AuthorizationServers
    let store: SessionStore
    let counter: RollbackCounterUpdater

    /// Finishes what is in flight, then closes the store so that another agent can use it.
    func stop() async {
        // A refresh in flight may commit later: closing the store records that, and the next start handles
        // it.
        await counter.stepLast()
        await runtime.shutdown()
        store.close()
    }
}
