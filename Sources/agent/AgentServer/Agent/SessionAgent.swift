// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import NIOCore
import NIOPosix
import Text
import TokenCore

/// The agent: all sessions, and the order of events that change them.
///
/// It runs on the event loop that serves the socket, so a request reads the state without a thread switch.
/// Applying an event never suspends: long jobs run elsewhere, and their results return as further events. The
/// properties below are the agent's other parts; each alone changes its own state, on the same loop.
///
/// - Entry points: ``begin(_:)``, ``apply(_:_:)``, ``lock()``, ``stop()``.
/// - May not: read or write files, or wait for the network, on the event loop.
package actor SessionAgent {
    /// The phases of the agent; refreshes start only while it is ``working``.
    enum Phase: Equatable {
        case working
        /// The store is being unlocked without the user; requests wait for it.
        case opening
        /// Work in flight finishes; then the keys are erased.
        case locking
        case locked
        /// Work in flight finishes; then the agent ends.
        case stopping
    }

    /// The maximum wait for work in flight, before the agent is locked or stops.
    private static let drainLimit = TimeAmount.seconds(20)
    /// The maximum wait of a start for a command that unlocks the store.
    private static let openingTimeout = TimeAmount.seconds(5)

    nonisolated let eventLoop: any EventLoop
    nonisolated private let executor: any SerialExecutor
    nonisolated package var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    let ports: AgentPorts
    private(set) var phase = Phase.locked
    private(set) var sessions: [SessionName: SessionEntry] = [:]
    let configuration: LiveConfiguration
    let requests: RequestHandler
    let refreshes: RefreshCoordinator
    let work: PendingWork
    let storeThread: StoreThread
    let erasure: DeferredSecretErasure
    let records: RecordWriter
    /// Fires when a session needs attention.
    private let alarm: Alarm<SessionName>
    private(set) var rest: IdleDetector

    package init(
        configuration: AgentConfiguration,
        ports: AgentPorts,
        identity: AgentDescription,
        eventLoop: any EventLoop,
        pool: NIOThreadPool,
        auditFile: AuditFile? = nil,
        fileLedger: TokenFileLedger = TokenFileLedger(stateDirectory: nil),
        onShutdownRequest: @escaping @Sendable () -> Void
    ) {
        self.ports = ports
        rest = IdleDetector(ports.onQuiet, clocks: ClockStepDetector(at: ports.timekeeper.moment))
        self.eventLoop = eventLoop
        executor = eventLoop.executor
        work = PendingWork(eventLoop: eventLoop)
        storeThread = StoreThread(store: ports.store, pool: pool, eventLoop: eventLoop, work: work)
        erasure = DeferredSecretErasure(memory: ports.memory, storeThread: storeThread)
        records = RecordWriter(storeThread: storeThread)
        alarm = Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper)
        refreshes = RefreshCoordinator(
            work: work,
            storeThread: storeThread,
            erasure: erasure,
            alarm: Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper),
            fleet: FleetCoordinator(
                ports.fleet,
                eventLoop: eventLoop,
                alarm: Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper)
            )
        )
        self.configuration = LiveConfiguration(
            configuration,
            source: ports.configuration,
            storeThread: storeThread,
            files: TokenFiles(
                configuration.files,
                writer: TokenFileWriter(memory: ports.memory, ledger: fileLedger),
                thread: TokenFileThread(eventLoop: eventLoop, work: work),
                alarm: Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper),
                logger: ports.logger
            ),
            eventLoop: eventLoop,
            logger: ports.logger
        )
        let audit = AuditLog(
            auditFile.map {
                AuditWriteQueue(file: $0, pool: pool, eventLoop: eventLoop, logger: ports.logger)
            },
            configuration: self.configuration,
            timekeeper: ports.timekeeper
        )
        requests = RequestHandler(
            ports: ports,
            identity: identity,
            audit: audit,
            eventLoop: eventLoop,
            onShutdownRequest: onShutdownRequest
        )
    }

    /// Whether the store must be unlocked before tokens are served.
    var isLocked: Bool { !isServing && phase != .opening }

    var isServing: Bool { phase == .working || phase == .stopping && !ports.memory.isLocked }

    var moment: Moment { ports.timekeeper.moment }

    var now: Instant { ports.timekeeper.now }

    var audit: AuditLog { requests.audit }

    var fleet: FleetCoordinator { refreshes.fleet }

    /// The log lines about sessions.
    var journal: SessionLog { SessionLog(logger: ports.logger) }

    // MARK: Events

    /// Applies an event to a session, and performs the resulting effects.
    func apply(_ name: SessionName, _ event: (inout Session, Moment) -> [Effect]) {
        guard let kept = sessions[name] else { return }
        let moment = moment
        let effects = event(&kept.session, moment)
        follow(effects, of: name, at: moment)
    }

    /// Returns the result of a query that may change the session, or `nil` if the session does not exist.
    ///
    /// The caller passes the resulting effects to ``follow(_:of:at:)``.
    func ask<Value>(_ name: SessionName, _ question: (inout Session, Moment) -> Value) -> Value? {
        sessions[name].map { question(&$0.session, moment) }
    }

    /// Performs a session's effects in order, and schedules its next wake time.
    func follow(_ effects: [Effect], of name: SessionName, at moment: Moment) {
        configuration.files.follow(name, in: self)
        for effect in effects { perform(effect, for: name, at: moment) }
        planWake(name)
    }

    /// Changes the counters of a session.
    func count(of name: SessionName, _ change: (inout SessionCounters) -> Void) {
        if let kept = sessions[name] { change(&kept.counts) }
    }

    private func planWake(_ name: SessionName) {
        alarm.plan(name, at: sessions[name]?.session.wakeTime)
    }

    /// Wakes every session that is due.
    ///
    /// Housekeeping calls this too, because timers fire late after the machine has slept.
    package func timeReached() {
        requests.timeReached(in: self)
        guard phase == .working || phase == .stopping else { return }
        for name in alarm.takeDue() {
            let jitter = ports.chance()
            apply(name) { session, moment in session.timeReached(moment, jitter: jitter) }
        }
        refreshes.timeReached(in: self)
        fleet.timeReached(in: self)
        configuration.files.timeReached(in: self)
        alarm.set()
    }

    /// Detects a sleep of the machine and wakes the sessions that are due; called after each pause of
    /// ``Housekeeping``.
    ///
    /// - Parameter burstChanges: The number of times a connection was opened or closed while many were open. It counts as
    ///   work, because a burst leaves free memory behind.
    /// - Returns: Whether the agent is idle.
    package func housekeep(burstChanges: Int) -> Bool {
        rest.clocks.compare(in: self)
        if rest.hasSlept(now: now) { networkReturned(spread: Self.wakeSpread) }
        timeReached()
        return rest.look(jobs: storeThread.jobsBegun + burstChanges, isWorking: !work.isEmpty)
    }

    /// The time over which retries are spread after a sleep of the machine, as the network needs a moment
    /// too.
    private static let wakeSpread = Duration.seconds(5)

    /// Retries requests that could not be sent, as the network may be back.
    ///
    /// The retries of the sessions are spread over `spread`. One second still provides new tokens within two
    /// seconds, and keeps the sessions from sending at the same instant.
    package func networkReturned(spread: Duration = .seconds(1)) {
        guard phase == .working else { return }
        ports.logger.debug("network change detected")
        ports.authorization.networkReturned()
        refreshes.networkReturned()
        for name in sessions.keys.sorted() {
            let delay = spread * ports.chance()
            apply(name) { session, moment in session.networkReturned(delay: delay, at: moment) }
        }
        refreshes.timeReached(in: self)
    }
}

// MARK: Effects

extension SessionAgent {
    private func perform(_ effect: Effect, for name: SessionName, at moment: Moment) {
        switch effect {
        case .reserve(let attempt, let snapshot):
            refreshes.perform(.reserve(attempt, snapshot), for: name, in: self)
        case .refresh(let request): refreshes.perform(.send(request), for: name, in: self)
        case .commit(let number, let snapshot): records.commit(number, snapshot, for: name, in: self)
        case .release(_, let answered): refreshes.release(name, answered: answered)
        case .forget: records.remove(name, in: self)
        case _ where fleet.defersRevocation(effect, of: name): break
        case .revoke(let request): requests.logouts.revoke(request, for: name, in: self)
        case .discard(let request): requests.logouts.late.begin(request, for: name, in: self)
        case .reply(let waiter, let reply): requests.tokens.answer(waiter, reply, at: moment, in: self)
        case .finishLogin(let number, let result):
            requests.logins.finish(number, result, for: name, in: self)
        case .finishLogout(let result): requests.logouts.finish(result, for: name, in: self)
        case .erase(let secret): erasure.erase(secret)
        case .reauthenticate(let number, let ways, let account):
            reauthenticate(number, ways, account: account, for: name)
        case .notify(let event): announce(event, for: name, at: moment)
        }
    }

    /// Logs in again without the user.
    private func reauthenticate(
        _ number: LoginNumber,
        _ ways: [SilentLogin],
        account: String?,
        for name: SessionName
    ) {
        guard let kept = sessions[name] else { return }
        journal.sessionEnded(kept.session.status.reason, of: name)
        let login = SilentReauthentication(of: kept, account: account, ports: ports)
        work.begin()
        Task {
            let outcome = await login.outcome(of: ways, in: self)
            let jitter = ports.chance()
            apply(name) { session, moment in
                session.silentLoginFinished(number, outcome, jitter: jitter, at: moment)
            }
            work.end()
        }
    }

    private func announce(_ event: SessionEvent, for name: SessionName, at moment: Moment) {
        journal.log(event, of: name, at: moment)
        refreshes.sources.follow(event, of: name, in: self)
        requests.events.publish(AgentEvent(event, of: name, at: moment), in: self)
    }

    func publish(_ event: EventName) {
        requests.events.publish(AgentEvent(event, session: nil, time: moment.wallTime), in: self)
    }
}

// MARK: Unlocking, locking, stopping

extension SessionAgent {
    /// Loads the sessions if the store is unlocked, or begins to unlock it, and then serves; called once.
    ///
    /// `serve` begins to accept requests, on the event loop.
    ///
    /// - Throws: The errors of `serve`.
    func begin(_ serve: @Sendable (isolated SessionAgent) throws -> Void) async throws {
        alarm.onFire { [weak self] in self?.assumeIsolated { $0.timeReached() } }
        refreshes.onFire { [weak self] in self?.assumeIsolated { $0.refreshes.admitDueRequests(in: $0) } }
        fleet.onFire { [weak self] in self?.assumeIsolated { $0.fleet.timeReached(in: $0) } }
        configuration.files.begin(in: self)
        let status = await storeThread.result { $0.vaultStatus() }
        switch status.state {
        case .unlocked:
            await load()
            phase = .working
            startDue()
        case .locked where status.opensByItself:
            phase = .opening
            Task { await open() }
            // The command may fail: wait a little before requests are told that the agent is not locked.
            if status.needsCommand { await requests.arrivals.waitUntilOpened(within: Self.openingTimeout) }
        case .locked: tellLocked(.passphraseNeeded)
        case .uninitialized: break
        }
        try serve(self)
    }

    /// Unlocks the store without the user, and serves the requests that arrived meanwhile.
    ///
    /// The agent already accepts connections: reading a thousand records takes longer than the rest of a
    /// start, and a command that unlocks the store may wait for the user to touch a key.
    private func open() async {
        if let refusal = await requests.vault.openStore(nil) {
            tellLocked(refusal)
            if phase == .opening { phase = .locked }
        } else if phase == .opening {
            await load()
            if phase == .opening {
                phase = .working
                startDue()
            }
        }
        for arrival in requests.arrivals.finish() { requests.handle(arrival, in: self) }
    }

    private func tellLocked(_ reason: StoreAccessError) {
        ports.logger.notice(
            "locked \(Remedy.run("tokenctl unlock").parenthesized)",
            metadata: ["reason": "\(RequestFailure(reason).message)"]
        )
    }

    /// Waits for the outcome of unlocking the store without the user.
    ///
    /// - Returns: Whether the agent serves tokens.
    package func waitUntilOpened() async -> Bool {
        if phase == .opening { await requests.arrivals.waitUntilOpened() }
        return isServing
    }

    /// Locks the agent because of a signal.
    package func lock() async {
        await lock(by: .signal)
    }

    /// Stops serving, waits for refreshes in flight, and then erases all keys and secrets.
    func lock(by origin: AuditRecord.Initiator) async {
        guard phase == .working else { return await waitUntilLocked() }
        phase = .locking
        configuration.files.followAll(in: self)
        refreshes.forget()
        await requests.refuseAll(.lockedAgent, within: Self.drainLimit, in: self)
        guard phase == .locking else { return }
        fleet.forget()
        sessions = [:]
        records.dropPending()
        alarm.cancel()
        await storeThread.result { $0.lock() }
        ports.memory.lock()
        phase = .locked
        audit.add(.lock, .done, by: origin)
        ports.logger.notice("locked")
        publish(.locked)
    }

    private func waitUntilLocked() async {
        while phase == .locking { await work.drain(within: Self.drainLimit) }
    }

    /// Unlocks the store and serves its sessions.
    ///
    /// - Throws: ``RequestFailure`` if the store could not be unlocked.
    func unlock(passphrase: [UInt8]?, by origin: AuditRecord.Initiator) async throws(RequestFailure) {
        await waitUntilLocked()
        guard phase == .locked else { return }
        if let refusal = await requests.vault.openStore(passphrase) {
            let failure = RequestFailure(refusal)
            audit.add(.unlock, .failed, by: origin)
            let advice = failure.remedy.map { " \($0.parenthesized)" } ?? ""
            ports.logger.warning("unlock failed", metadata: ["reason": "\(failure.message)\(advice)"])
            throw failure
        }
        guard phase == .locked else { return }
        audit.add(.unlock, .done, by: origin)
        let changed = await configuration.readOwed()
        await load()
        guard phase == .locked else { return }
        phase = .working
        // Sessions must be loaded first: those whose login settings changed must notice the change.
        if let changed { await configuration.adopt(changed, in: self) }
        ports.logger.notice("unlocked")
        publish(.unlocked)
        startDue()
    }

    /// Stops beginning new work.
    package func beginStopping() {
        guard phase != .stopping else { return }
        phase = .stopping
        configuration.files.followAll(in: self)
        refreshes.forget()
        requests.logins.refuseUnstored(stopping, in: self)
    }

    /// Stops the agent after work in flight has finished.
    package func stop() async {
        beginStopping()
        requests.beginStopping(in: self)
        await work.drain(within: Self.drainLimit)
        fleet.forget()
        await requests.finishStopping(in: self)
        configuration.files.end()
        alarm.cancel()
    }

    /// The reason no tokens are served now.
    var stopping: RequestFailure {
        phase == .stopping ? .stoppingAgent : .lockedAgent
    }

    // MARK: Sessions

    private func startDue() {
        refreshes.sources.compare(in: self)
        fleet.start(in: self)
        for name in sessions.keys { planWake(name) }
        configuration.files.followAll(in: self)
        requests.tokens.preparations.proceed(in: self)
        timeReached()
    }

    /// Creates the configured sessions from the store's contents.
    private func load() async {
        let contents = await storeThread.result { $0.loadSessions() }
        sessions = [:]
        begin(configuration.current.sessions, with: contents)
    }

    /// Adds the `wanted` sessions with the store's contents, and erases the loaded secrets of all others.
    private func begin(_ wanted: [SessionName: SessionSettings], with contents: StoreContents) {
        erasure.erase(contents.secrets(unless: { wanted[$0] != nil }))
        let moment = moment
        sessions.reserveCapacity(sessions.count + wanted.count)
        for (name, settings) in wanted {
            let stored = contents.content(of: name)?.accepted(under: settings, erasure)
            let content = stored?.shared(by: name, settings, in: self)
            let kept = SessionEntry(content, of: name, settings, at: moment)
            sessions[name] = kept
            rest.clocks.date(kept, from: ports.memory, at: moment)
            if settings.policy.isShared { fleet.join(name, settings, content) }
        }
    }

    /// Reads the configuration again because of a signal; a locked agent does so when it is unlocked.
    package func reloadOnceUnlocked() async throws(RequestFailure) {
        guard phase == .locking || phase == .locked else {
            try await configuration.reload(by: .signal, in: self)
            return
        }
        configuration.reloadOnceUnlocked()
    }

    /// Applies a new configuration to the sessions.
    ///
    /// Logins with the same settings continue undisturbed; others must not be used.
    func changeSessions() async {
        guard phase == .working else { return }
        let new = configuration.current.sessions
        let leaving = sessions.leaving(under: configuration.current)
        for (name, kept) in leaving { drop(name, kept.removalFailure(under: new[name])) }
        for (name, settings) in new { update(name, settings) }
        await beginAdded()
        for (name, kept) in leaving where kept.isReplaced(by: sessions[name]) {
            announce(.settingsChanged, for: name, at: moment)
        }
    }

    private func update(_ name: SessionName, _ settings: SessionSettings) {
        let isSame = sessions[name]?.settings.fingerprint == settings.fingerprint
        sessions[name]?.settings = settings
        apply(name) { session, moment in
            session.policyChanged(settings.policy)
            return isSame ? session.retryAllowed(at: moment) : session.registrationChanged(at: moment)
        }
    }

    /// Removes a session and fails its waiters with `failure`; its record stays on disk.
    private func drop(_ name: SessionName, _ failure: RequestFailure) {
        requests.refuseAll(failure, about: name, in: self)
        if let session = sessions.removeValue(forKey: name)?.session {
            refreshes.sessionRemoved(session, in: self)
        }
        fleet.sessionRemoved(name, in: self)
        records.dropPending(of: name)
        planWake(name)
    }

    /// Loads the configured sessions that the agent does not have yet.
    private func beginAdded() async {
        guard configuration.current.sessions.keys.contains(where: { sessions[$0] == nil }) else { return }
        let contents = await storeThread.result { $0.loadSessions() }
        guard phase == .working else { return }
        begin(configuration.current.sessions.filter { sessions[$0.key] == nil }, with: contents)
        startDue()
    }
}
