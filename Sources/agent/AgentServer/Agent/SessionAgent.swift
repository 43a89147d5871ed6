// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import NIOCore
import NIOPosix
import Text
import TokenCore

/// The agent: it makes its parts, starts them, locks them and stops them.
///
/// It runs on the event loop that serves the socket, so a request reads the state without a thread switch. All
/// parts are confined to this loop; the compiler checks it, because none of them is `Sendable`.
///
/// - Entry points: ``begin(_:)``, ``lock()``, ``stop()``.
/// - May not: read or write files, or wait for the network, on the event loop.
package actor SessionAgent: AgentLocking {
    /// The maximum wait for work in flight, before the agent is locked or stops.
    private static let drainLimit = TimeAmount.seconds(20)
    /// The maximum wait of a start for a command that unlocks the store.
    private static let openingTimeout = TimeAmount.seconds(5)

    nonisolated private let executor: any SerialExecutor
    nonisolated package var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    let ports: AgentPorts
    let parts: AgentParts
    let requests: RequestHandler
    private let effects: EffectExecutor
    private let sessions: ConfiguredSessions
    /// The next attempt to unlock the store without the user, and how many have failed.
    private(set) var reopening: (at: Instant, failures: Int)? {
        didSet { reopenAlarm.plan(true, at: reopening?.at) }
    }
    private let reopenAlarm: Alarm<Bool>
    /// The number of requests to lock, which an unlocking that takes long must not undo.
    private var locks = 0

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
        executor = eventLoop.executor
        reopenAlarm = Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper)
        parts = AgentParts(
            configuration: configuration,
            ports: ports,
            eventLoop: eventLoop,
            pool: pool,
            auditFile: auditFile,
            fileLedger: fileLedger
        )
        requests = RequestHandler(
            parts: parts,
            ports: ports,
            identity: identity,
            eventLoop: eventLoop,
            onShutdownRequest: onShutdownRequest
        )
        effects = EffectExecutor(parts: parts, requests: requests, ports: ports)
        sessions = ConfiguredSessions(
            parts: parts,
            requests: requests,
            effects: effects,
            timekeeper: ports.timekeeper
        )
        parts.registry.effects = effects
    }

    private var phase: AgentPhase { parts.phase }

    // MARK: Time

    /// Wakes every session that is due.
    ///
    /// Housekeeping calls this too, because timers fire late after the machine has slept.
    package func timeReached() {
        requests.timeReached()
        reopenIfDue()
        guard phase.current == .working || phase.current == .stopping else { return }
        parts.registry.timeReached { [parts] in
            parts.refreshes.timeReached()
            parts.sharing.timeReached()
            parts.files.timeReached()
        }
    }

    /// Detects a sleep of the machine and wakes the sessions that are due; called after each pause of
    /// ``Housekeeping``.
    ///
    /// - Parameter burstChanges: The number of times a connection was opened or closed while many were open. It counts as
    ///   work, because a burst leaves free memory behind.
    /// - Returns: Whether the agent is idle.
    func housekeep(burstChanges: Int) -> Bool {
        parts.clocks.compare()
        if parts.idle.hasSlept(now: ports.timekeeper.now) { networkReturned(spread: Self.wakeSpread) }
        timeReached()
        return parts.idle.look(
            jobs: parts.storeThread.jobsBegun + burstChanges,
            isWorking: !parts.work.isEmpty
        )
    }

    /// The time over which retries are spread after a sleep of the machine, as the network needs a moment
    /// too.
    private static let wakeSpread = Duration.seconds(5)

    /// Retries requests that could not be sent, as the network may be back.
    ///
    /// The retries of the sessions are spread over `spread`. One second still provides new tokens within two
    /// seconds, and keeps the sessions from sending at the same instant.
    package func networkReturned(spread: Duration = .seconds(1)) {
        guard phase.current == .working else { return }
        ports.logger.debug("network change detected")
        ports.authorization.networkReturned()
        parts.refreshes.networkReturned()
        for name in parts.registry.entries.keys.sorted() {
            let delay = spread * ports.chance()
            parts.registry.apply(name) { session, moment in
                session.networkReturned(delay: delay, at: moment)
            }
        }
        parts.refreshes.timeReached()
    }
}

// MARK: Unlocking, locking, stopping

extension SessionAgent {
    /// Loads the sessions if the store is unlocked, or begins to unlock it, and then serves; called once.
    ///
    /// `serve` begins to accept requests, on the event loop; it gets the active configuration.
    ///
    /// - Throws: The errors of `serve`.
    func begin(_ serve: @Sendable (LiveConfiguration) throws -> Void) async throws {
        requests.vault.agent = self
        reopenAlarm.onFire { [weak self] in self?.assumeIsolated { $0.reopenAlarmFired() } }
        sessions.wake = { [weak self] in self?.assumeIsolated { $0.timeReached() } }
        parts.registry.onFire(sessions.wake)
        parts.files.begin()
        let status = await parts.storeThread.result { $0.vaultStatus() }
        switch status.state {
        case .unlocked:
            await sessions.load()
            phase.become(.working)
            sessions.startDue()
        case .locked where status.opensByItself:
            phase.become(.opening)
            Task { await open() }
            // The command may fail: wait a little before requests are told that the agent is not locked.
            if status.needsCommand { await requests.arrivals.waitUntilOpened(within: Self.openingTimeout) }
        case .locked: tellLocked(.passphraseNeeded)
        case .uninitialized: break
        }
        try serve(parts.configuration)
    }

    /// Unlocks the store without the user, and serves the requests that arrived meanwhile.
    ///
    /// The agent already accepts connections: reading a thousand records takes longer than the rest of a
    /// start, and a command that unlocks the store may wait for the user to touch a key.
    private func open() async {
        if let refusal = await openStore(nil) {
            tellLocked(refusal)
            if phase.current == .opening { phase.become(.locked) }
            if refusal.mayPass { planReopening(after: 1) }
        } else if phase.current == .opening {
            await sessions.load()
            if phase.current == .opening {
                phase.become(.working)
                sessions.startDue()
            }
        }
        for arrival in requests.arrivals.finish() { requests.handle(arrival) }
    }

    /// Unlocks the store, unless the agent is to be locked again meanwhile.
    private func openStore(_ passphrase: [UInt8]?) async -> StoreAccessError? {
        let before = locks
        let refusal = await requests.vault.openStore(passphrase)
        guard refusal == nil, locks != before else { return refusal }
        await parts.storeThread.result { $0.lock() }
        ports.memory.lock()
        return .passphraseNeeded
    }

    private func planReopening(after failures: Int) {
        let pause = RetrySchedule.helperPause(after: failures)
        reopening = (ports.timekeeper.now + pause, failures)
    }

    private func reopenAlarmFired() {
        _ = reopenAlarm.takeDue()
        reopenIfDue()
        reopenAlarm.set()
    }

    /// Tries again to unlock the store without the user: a command or a mounted key file may be ready now.
    private func reopenIfDue() {
        guard phase.current == .locked, let next = reopening, next.at <= ports.timekeeper.now else { return }
        planReopening(after: next.failures + 1)
        Task { try? await unlock(passphrase: nil, by: .agent) }
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
        if phase.current == .opening { await requests.arrivals.waitUntilOpened() }
        return phase.isServing
    }

    /// Locks the agent because of a signal.
    package func lock() async {
        await lock(by: .signal)
    }

    /// Stops serving, waits for refreshes in flight, and then erases all keys and secrets.
    func lock(by origin: RequestInitiator) async {
        reopening = nil
        locks += 1
        guard phase.current == .working else { return await waitUntilLocked() }
        phase.become(.locking)
        parts.files.followAll()
        parts.refreshes.forget()
        await requests.refuseAll(.lockedAgent, within: Self.drainLimit)
        guard phase.current == .locking else { return }
        parts.sharing.forget()
        parts.registry.removeAll()
        parts.records.dropPending()
        parts.registry.cancelWakes()
        await parts.storeThread.result { $0.lock() }
        ports.memory.lock()
        phase.become(.locked)
        parts.audit.add(.lock, .done, by: origin)
        ports.logger.notice("locked")
        parts.events.publish(.locked)
    }

    private func waitUntilLocked() async {
        while phase.current == .locking { await parts.work.drain(within: Self.drainLimit) }
    }

    /// Unlocks the store and serves its sessions.
    ///
    /// - Throws: ``RequestFailure`` if the store could not be unlocked.
    func unlock(passphrase: [UInt8]?, by origin: RequestInitiator) async throws(RequestFailure) {
        await waitUntilLocked()
        guard phase.current == .locked else { return }
        if let refusal = await openStore(passphrase) {
            if passphrase == nil, !refusal.mayPass { reopening = nil }
            let failure = RequestFailure(refusal)
            parts.audit.add(.unlock, .failed, by: origin)
            let advice = failure.remedy.map { " \($0.parenthesized)" } ?? ""
            ports.logger.warning("unlock failed", metadata: ["reason": "\(failure.message)\(advice)"])
            throw failure
        }
        guard phase.current == .locked else { return }
        reopening = nil
        parts.audit.add(.unlock, .done, by: origin)
        let changed = await parts.reloads.readOwed()
        await sessions.load()
        guard phase.current == .locked else { return }
        phase.become(.working)
        // Sessions must be loaded first: those whose login settings changed must notice the change.
        if let changed { await parts.reloads.adopt(changed) }
        ports.logger.notice("unlocked")
        parts.events.publish(.unlocked)
        sessions.startDue()
    }

    /// Stops beginning new work.
    func beginStopping() {
        guard phase.current != .stopping else { return }
        phase.become(.stopping)
        parts.files.followAll()
        parts.refreshes.forget()
        requests.logins.refuseUnstored(phase.refusal)
    }

    /// Stops the agent after work in flight has finished.
    package func stop() async {
        beginStopping()
        requests.beginStopping()
        await parts.work.drain(within: Self.drainLimit)
        parts.sharing.forget()
        await requests.finishStopping()
        parts.files.end()
        parts.registry.cancelWakes()
    }

    /// Reads the configuration again because of a signal; a locked agent does so when it is unlocked.
    package func reloadOnceUnlocked() async throws(RequestFailure) {
        guard phase.current == .locking || phase.current == .locked else {
            try await parts.reloads.reload(by: .signal)
            return
        }
        parts.reloads.reloadOnceUnlocked()
    }
}
