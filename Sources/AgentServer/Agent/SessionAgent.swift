// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import NIOCore
import NIOPosix
import SealedStore
import TokenCore

/// All sessions, and the order in which things happen to them; runs on the event loop that serves the socket.
///
/// So there is no hop between a request's bytes and the state it reads. Applying an event never suspends:
/// whatever takes long runs elsewhere and comes back as another event. The other parts of the agent are the
/// properties below: each alone changes its own state, and all run on the same loop.
package actor SessionAgent {
    /// Whether refreshes may start.
    enum Phase: Equatable {
        case working
        /// The store is being opened without a person; requests wait for it.
        case opening
        /// Waiting for what is in flight; then the keys are wiped.
        case locking
        case locked
        /// Waiting for what is in flight; then the agent ends.
        case stopping
    }

    /// Longest wait for what is in flight, before a lock or a stop.
    private static let drainLimit = TimeAmount.seconds(20)
    /// How long a start waits for a command that opens the store.
    private static let openingPatience = TimeAmount.seconds(5)

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
    let erasure: SecretErasure
    let records: RecordWriter
    /// Rings when a session needs attention.
    private let alarm: Alarm<SessionName>
    private(set) var rest: IdleMonitor

    package init(
        configuration: AgentConfiguration,
        ports: AgentPorts,
        identity: AgentIdentity,
        eventLoop: any EventLoop,
        pool: NIOThreadPool,
        auditFile: AuditFile? = nil,
        fileLedger: TokenFileLedger = TokenFileLedger(stateDirectory: nil),
        onShutdownRequest: @escaping @Sendable () -> Void
    ) {
        self.ports = ports
        rest = IdleMonitor(ports.onQuiet, clocks: ClockSteps(at: ports.timekeeper.moment))
        self.eventLoop = eventLoop
        executor = eventLoop.executor
        work = PendingWork(eventLoop: eventLoop)
        storeThread = StoreThread(store: ports.store, pool: pool, eventLoop: eventLoop, work: work)
        erasure = SecretErasure(memory: ports.memory, storeThread: storeThread)
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
            auditFile.map { AuditTrail(file: $0, pool: pool, eventLoop: eventLoop, logger: ports.logger) },
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

    /// Whether nothing is served before somebody unlocks the store.
    var isLocked: Bool { !isServing && phase != .opening }

    var isServing: Bool { phase == .working || phase == .stopping && !ports.memory.isLocked }

    var moment: Moment { ports.timekeeper.moment }

    var now: Instant { ports.timekeeper.now }

    var audit: AuditLog { requests.audit }

    var fleet: FleetCoordinator { refreshes.fleet }

    /// The lines of the log about sessions.
    var journal: SessionLog { SessionLog(logger: ports.logger) }

    // MARK: Events

    /// Lets an event change a session, then does what follows from it.
    func apply(_ name: SessionName, _ event: (inout Session, Moment) -> [Effect]) {
        guard let kept = sessions[name] else { return }
        let moment = moment
        let effects = event(&kept.session, moment)
        follow(effects, of: name, at: moment)
    }

    /// Asks a session something, which may change it; `nil` if there is no such session.
    ///
    /// The caller hands the effects to ``follow(_:of:at:)``.
    func ask<Value>(_ name: SessionName, _ question: (inout Session, Moment) -> Value) -> Value? {
        sessions[name].map { question(&$0.session, moment) }
    }

    /// Does what a session decided, in order, and asks it when it next needs attention.
    func follow(_ effects: [Effect], of name: SessionName, at moment: Moment) {
        configuration.files.follow(name, in: self)
        for effect in effects { perform(effect, for: name, at: moment) }
        planWake(name)
    }

    /// Counts something that happened to a session.
    func count(of name: SessionName, _ change: (inout SessionCounts) -> Void) {
        if let kept = sessions[name] { change(&kept.counts) }
    }

    private func planWake(_ name: SessionName) {
        alarm.plan(name, at: sessions[name]?.session.wakeTime)
    }

    /// Wakes every session that is due; housekeeping calls it too, as timers come late after a sleep of the machine.
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

    /// Notices that the machine slept, and wakes what is due; called after each pause of ``Housekeeping``.
    /// - Parameter burstChanges: how often a crowd of connections grew or shrank; work, for what it leaves in memory.
    /// - Returns: whether the agent is at rest.
    package func housekeep(burstChanges: Int) -> Bool {
        rest.clocks.compare(in: self)
        if rest.hasSlept(now: now) { networkReturned(spread: Self.wakeSpread) }
        timeReached()
        return rest.look(jobs: storeThread.jobsBegun + burstChanges, isWorking: !work.isEmpty)
    }

    /// Sessions that could not reach their issuer try again spread over this, as the network needs a moment too.
    private static let wakeSpread = Duration.seconds(5)

    /// Tries again what could not be sent, as the network may be back; the sessions are spread over `spread`.
    ///
    /// One second keeps the promise of a fresh token within two, and not all sessions ask in one instant.
    package func networkReturned(spread: Duration = .seconds(1)) {
        guard phase == .working else { return }
        ports.logger.debug("the network may be back")
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
        case _ where fleet.holdsBack(effect, of: name): break
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

    /// Logs in again without a person.
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

// MARK: Opening, locking, stopping

extension SessionAgent {
    /// Loads the sessions if the store is open, or begins to open it, and then serves; called once.
    ///
    /// - Parameter serve: begins to take requests, on the event loop.
    /// - Throws: what `serve` throws.
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
            // Whether a command delivers the key is not known yet: wait a little before saying "not locked".
            if status.needsCommand { await requests.arrivals.untilOpened(within: Self.openingPatience) }
        case .locked: tellLocked(.passphraseNeeded)
        case .uninitialized: break
        }
        try serve(self)
    }

    /// Opens the store without a person, and serves the requests that came meanwhile.
    ///
    /// The agent already answers that it is there: reading a thousand records takes longer than the rest of a
    /// start, and a command that opens the store may wait for a person's finger.
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
            "locked; unlock with: tokenctl unlock",
            metadata: ["reason": "\(RequestFailure(reason).message)"]
        )
    }

    /// Waits until it is known whether the store opens without a person; returns whether it did.
    package func untilOpened() async -> Bool {
        if phase == .opening { await requests.arrivals.untilOpened() }
        return isServing
    }

    /// Locks because a signal asks for it.
    package func lock() async {
        await lock(by: .signal)
    }

    /// Stops serving at once, lets refreshes in flight finish, then wipes every key and secret.
    func lock(by origin: AuditRecord.Origin) async {
        guard phase == .working else { return await untilLocked() }
        phase = .locking
        configuration.files.followAll(in: self)
        refreshes.forget()
        await requests.refuseAll(.lockedAgent, within: Self.drainLimit, in: self)
        guard phase == .locking else { return }
        fleet.forget()
        sessions = [:]
        records.letGo()
        alarm.planNothing()
        await storeThread.result { $0.lock() }
        ports.memory.lock()
        phase = .locked
        audit.add(.lock, .done, by: origin)
        ports.logger.notice("locked")
        publish(.locked)
    }

    private func untilLocked() async {
        while phase == .locking { await work.drain(within: Self.drainLimit) }
    }

    /// Opens the store again and serves what is in it.
    func unlock(passphrase: [UInt8]?, by origin: AuditRecord.Origin) async throws(RequestFailure) {
        await untilLocked()
        guard phase == .locked else { return }
        if let refusal = await requests.vault.openStore(passphrase) {
            audit.add(.unlock, .failed, by: origin)
            ports.logger.warning("not unlocked", metadata: ["reason": "\(refusal)"])
            throw RequestFailure(refusal)
        }
        guard phase == .locked else { return }
        audit.add(.unlock, .done, by: origin)
        let changed = await configuration.readOwed()
        await load()
        guard phase == .locked else { return }
        phase = .working
        // Only once the sessions are there: those that now belong to another login must notice.
        if let changed { await configuration.adopt(changed, in: self) }
        ports.logger.notice("unlocked")
        publish(.unlocked)
        startDue()
    }

    /// Begins nothing new from here on.
    package func beginStopping() {
        guard phase != .stopping else { return }
        phase = .stopping
        configuration.files.followAll(in: self)
        refreshes.forget()
        requests.logins.refuseUnstored(stopping, in: self)
    }

    /// Stops for good: what is in flight finishes.
    package func stop() async {
        beginStopping()
        requests.beginStopping(in: self)
        await work.drain(within: Self.drainLimit)
        fleet.forget()
        await requests.finishStopping(in: self)
        configuration.files.end()
        alarm.planNothing()
    }

    /// Why nothing is served now.
    var stopping: RequestFailure {
        phase == .stopping ? .stoppingAgent : .lockedAgent
    }

    // MARK: Sessions

    private func startDue() {
        refreshes.sources.compare(in: self)
        fleet.start(in: self)
        for name in sessions.keys { planWake(name) }
        configuration.files.followAll(in: self)
        requests.tokens.preparations.goOn(in: self)
        timeReached()
    }

    /// Makes the sessions of the configuration from what the store has.
    private func load() async {
        let contents = await storeThread.result { $0.loadSessions() }
        sessions = [:]
        begin(configuration.current.sessions, with: contents)
    }

    /// Adds the `wanted` sessions as the store has them, and erases the loaded secrets of all others.
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

    /// Reads the configuration again because a signal asks for it; a locked agent waits until it is unlocked.
    package func reloadOnceUnlocked() async throws(RequestFailure) {
        guard phase == .locking || phase == .locked else {
            try await configuration.reload(by: .signal, in: self)
            return
        }
        configuration.reloadOnceUnlocked()
    }

    /// Takes over another configuration: logins of the same settings go on undisturbed, others must not be used.
    func changeSessions() async {
        guard phase == .working else { return }
        let new = configuration.current.sessions
        let leaving = sessions.leaving(under: configuration.current)
        for (name, kept) in leaving { drop(name, kept.farewell(under: new[name])) }
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

    /// Drops a session: its record stays, but nothing of it is served, and whoever waits for it gets `failure`.
    private func drop(_ name: SessionName, _ failure: RequestFailure) {
        requests.refuseAll(failure, about: name, in: self)
        if let session = sessions.removeValue(forKey: name)?.session { refreshes.depart(session, in: self) }
        fleet.depart(name, in: self)
        records.letGo(of: name)
        planWake(name)
    }

    /// Begins the configured sessions that the agent does not have yet.
    private func beginAdded() async {
        guard configuration.current.sessions.keys.contains(where: { sessions[$0] == nil }) else { return }
        let contents = await storeThread.result { $0.loadSessions() }
        guard phase == .working else { return }
        begin(configuration.current.sessions.filter { sessions[$0.key] == nil }, with: contents)
        startDue()
    }
}
