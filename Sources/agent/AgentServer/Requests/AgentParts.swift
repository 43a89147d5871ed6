// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import TokenCore

/// The parts of the agent that serve all requests, each made with what it needs.
///
/// Confined to the agent's event loop.
struct AgentParts {
    let tasks: LoopTasks
    let log: SessionLog
    let phase: AgentPhase
    let work: PendingWork
    let storeThread: StoreThread
    let erasure: DeferredSecretErasure
    let registry: SessionRegistry
    let configuration: LiveConfiguration
    let events: Subscriptions
    let audit: AuditLog
    let clocks: ClockStepDetector
    let idle: IdleDetector
    let revoker: TokenRevoker
    /// The revocations of tokens that no session has any more.
    let late: OrphanedTokenRevocations
    /// The fleet of this host, or `nil` if it is in none.
    let fleet: FleetCoordinator?
    let sharing: any SessionSharing
    let sources: SourceSessionTokenRequests
    let refreshes: RefreshCoordinator
    let records: RecordWriter
    let files: TokenFiles
    let reloads: ConfigurationReloads

    init(
        configuration active: AgentConfiguration,
        ports: AgentPorts,
        eventLoop: any EventLoop,
        pool: NIOThreadPool,
        auditFile: AuditFile?,
        fileLedger: TokenFileLedger
    ) {
        func alarm<Key>() -> Alarm<Key> { Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper) }
        tasks = LoopTasks(on: eventLoop.executor)
        log = SessionLog(logger: ports.logger)
        phase = AgentPhase(memory: ports.memory)
        work = PendingWork(eventLoop: eventLoop)
        storeThread = StoreThread(store: ports.store, pool: pool, eventLoop: eventLoop, work: work)
        erasure = DeferredSecretErasure(memory: ports.memory, storeThread: storeThread)
        registry = SessionRegistry(timekeeper: ports.timekeeper, chance: ports.chance, alarm: alarm())
        configuration = LiveConfiguration(active)
        events = Subscriptions(
            observer: ports.observer,
            configuration: configuration,
            timekeeper: ports.timekeeper
        )
        audit = AuditLog(
            auditFile.map {
                AuditWriteQueue(file: $0, pool: pool, eventLoop: eventLoop, logger: ports.logger)
            },
            registry: registry,
            configuration: configuration,
            timekeeper: ports.timekeeper
        )
        clocks = ClockStepDetector(registry: registry, ports: ports)
        idle = IdleDetector(ports.onQuiet)
        revoker = TokenRevoker(configuration: configuration, authorization: ports.authorization)
        late = OrphanedTokenRevocations(
            alarm: alarm(),
            revoker: revoker,
            registry: registry,
            erasure: erasure,
            ports: ports,
            log: log,
            tasks: tasks
        )
        let fleetParts = FleetParts(
            registry: registry,
            storeThread: storeThread,
            erasure: erasure,
            work: work,
            late: late,
            events: events,
            idle: idle,
            log: log,
            timekeeper: ports.timekeeper,
            chance: ports.chance,
            tasks: tasks
        )
        fleet = ports.fleet.map {
            FleetCoordinator($0, parts: fleetParts, eventLoop: eventLoop, alarm: alarm())
        }
        sharing = fleet ?? NoSharing(registry: registry)
        sources = SourceSessionTokenRequests(
            registry: registry,
            configuration: configuration,
            phase: phase,
            work: work,
            memory: ports.memory,
            timekeeper: ports.timekeeper
        )
        refreshes = RefreshCoordinator(
            registry: registry,
            phase: phase,
            work: work,
            storeThread: storeThread,
            erasure: erasure,
            ports: ports,
            log: log,
            tasks: tasks,
            alarm: alarm(),
            fleet: sharing,
            sources: sources
        )
        records = RecordWriter(
            storeThread: storeThread,
            fleet: sharing,
            registry: registry,
            phase: phase,
            log: log,
            eventLoop: eventLoop
        )
        files = TokenFiles(
            active.files,
            writer: TokenFileWriter(memory: ports.memory, ledger: fileLedger),
            thread: TokenFileThread(eventLoop: eventLoop, work: work),
            alarm: alarm(),
            registry: registry,
            refreshes: refreshes,
            phase: phase,
            audit: audit,
            work: work,
            ports: ports
        )
        reloads = ConfigurationReloads(
            of: configuration,
            source: ports.configuration,
            storeThread: storeThread,
            registry: registry,
            fleet: sharing,
            files: files,
            phase: phase,
            events: events,
            audit: audit,
            log: log
        )
    }
}
