// SPDX-License-Identifier: MIT

import NIOCore
import Text
import TokenCore

/// The parts of the agent that the fleet uses.
struct FleetParts {
    let registry: SessionRegistry
    let storeThread: StoreThread
    let erasure: DeferredSecretErasure
    let work: PendingWork
    /// The revocations of tokens that no session has any more.
    let late: OrphanedTokenRevocations
    let events: Subscriptions
    let idle: IdleDetector
    let log: SessionLog
    let timekeeper: any Timekeeper
    let chance: @Sendable () -> Double
    let tasks: LoopTasks
}

/// The sessions that this host shares with other hosts through etcd.
///
/// ``FleetCoordinator`` has one ``SharedSession`` per session, which executes the decisions of `FleetMember`
/// (TokenCore). Revocations wait until the login or logout that caused them is in etcd.
///
/// - Entry points: ``SessionSharing``, for ``FleetRequests`` and ``FleetCheckup`` also the rest.
/// - May not: send tokens to etcd unsealed, or talk to authorization servers.
/// - Runs on: the agent's event loop, to which it is confined.
final class FleetCoordinator: SessionSharing {
    /// The delay before a failed operation is tried again: 10 seconds.
    static let delay = TimeAmount.seconds(10)
    /// The period over which hosts spread their requests when etcd is reachable again: 2 seconds.
    private static let spread = Duration.seconds(2)

    let port: FleetDependencies
    let parts: FleetParts
    /// The refresh attempts that the fleet decides about; set once all parts exist.
    weak var refreshes: (any SharedRefreshDecisionReceiver)?
    /// Those who wait for a shared session; set once all parts exist.
    weak var observer: (any SharedSessionNewsReceiver)?
    private let eventLoop: any EventLoop
    /// The timer for sessions whose ``FleetMember`` has something to do at a time, such as a retry.
    private let alarm: Alarm<SessionName>
    private var sessions: [SessionName: SharedSession] = [:]
    /// The sessions that wait for the shared store to be opened.
    private var joining: [SessionName: JoiningSession] = [:]
    /// The sessions with which this host has left the fleet, because the user logged out on this host only.
    private var left: [SessionName: DepartedSession] = [:]
    /// The attempts that wait for the fleet's permission.
    private var waiting: [SessionName: AttemptNumber] = [:]
    private let store: SharedStore
    /// The next attempt to open the store after a failure.
    private var reopening: Scheduled<Void>?
    /// The sessions that are about to leave the fleet.
    private let leavers: DrainingSessions
    let announcements: HostAnnouncer
    let removed = RemovedHosts()

    init(_ port: FleetDependencies, parts: FleetParts, eventLoop: any EventLoop, alarm: Alarm<SessionName>) {
        self.port = port
        self.parts = parts
        self.eventLoop = eventLoop
        self.alarm = alarm
        store = SharedStore(tasks: parts.tasks)
        leavers = DrainingSessions(eventLoop: eventLoop)
        announcements = HostAnnouncer(port, eventLoop: eventLoop, parts: parts)
        announcements.fleet = self
        alarm.onFire { [weak self] in self?.timeReached() }
    }

    // MARK: Joining and leaving

    /// Adds a session to the fleet, effective at the next ``start()``.
    func join(_ name: SessionName, _ settings: SessionSettings, _ content: StoredSession.Content?) {
        guard let binding = settings.fleetBinding else { return }
        let joining = JoiningSession(settings, binding, content, port)
        if joining == nil { left[name] = DepartedSession() }
        self.joining[name] = joining
    }

    /// Starts the sessions that have joined and watches their records in etcd.
    ///
    /// Opens the shared store first if needed.
    func start() {
        guard !joining.isEmpty else { return }
        guard let sharing else { return open() }
        begin(sharing)
    }

    private func open() {
        store.open(port) { [weak self] in self?.opened($0) }
    }

    /// Handles the result of opening the shared store.
    private func opened(_ result: Result<any FleetSharing, FleetStoreError>) {
        reopening?.cancel()
        switch result {
        case .success(let sharing): begin(sharing)
        case .failure(let storeError):
            refuseWaiting()
            parts.log.logger.error("fleet: not opened", metadata: ["error": "\(storeError.sentence)"])
            reopening = later { [weak self] in self?.start() }
        }
    }

    private func begin(_ sharing: any FleetSharing) {
        guard !joining.isEmpty else { return }
        let beginning = joining
        joining = [:]
        for (name, joining) in beginning {
            sessions[name] = SharedSession(
                name,
                joining.keeping,
                joining.binding,
                timing: joining.timing,
                sharing: sharing,
                host: port.host,
                fleet: self
            )
        }
        store.follow(Set(sessions.keys)) { [weak self] in self?.hear($0) }
        announcements.announce()
        for (name, joining) in beginning {
            guard let session = sessions[name] else { continue }
            if let login = joining.login {
                // Of the logins that the hosts had before the session was shared, the fleet takes the latest.
                let time = FleetTime(seconds: login.loggedInAt.secondsSince1970)
                CommitPublication(number: nil, snapshot: login, shared: session).logIn(time: time)
            } else if joining.keeping?.memory.hasUnpublishedChanges != false {
                session.apply { member, now in member.started(at: now) }
            }
            // The watch reads all other sessions at once.
            if let attempt = waiting[name] { session.reserve(attempt) }
        }
    }

    /// Fails the requests of sessions that wait for the shared store, which cannot be opened now.
    private func refuseWaiting() {
        let refused = waiting
        waiting = [:]
        for (name, attempt) in refused { refreshes?.refused(attempt, .unreachable(absence), for: name) }
        for name in joining.keys { observer?.sharedRecordRead(of: name) }
    }

    /// Handles an event of the watch of etcd.
    func hear(_ news: FleetEvent) {
        switch news {
        case .changed(let name): sessions[name]?.apply { member, now in member.changed(at: now) }
        case .shown(let readResult): sessions[readResult.session]?.show(readResult)
        case .connected: recordReconnection()
        // By then the TLS handshake is finished.
        case .resumed: later(after: .seconds(1)) { [parts] in parts.idle.again() }
        case .storeError(let storeError): recordOutage(storeError)
        }
    }

    private func recordOutage(_ storeError: FleetStoreError) {
        guard store.recordOutage(storeError) else { return }
        // Waiters must not wait for an etcd that is unreachable.
        leavers.look()
        parts.log.logger.warning("fleet: etcd unreachable", metadata: ["error": "\(storeError.sentence)"])
        parts.events.publish(.fleetAway)
    }

    /// Retries reservations that failed while etcd was unreachable.
    ///
    /// A random delay keeps the hosts from all doing so at once.
    private func recordReconnection() {
        guard store.recordReconnection() else { return }
        parts.log.logger.notice("fleet: etcd reachable again")
        parts.events.publish(.fleetBack)
        announcements.announce()
        for name in sessions.keys {
            let delay = FleetCoordinator.spread * parts.chance()
            parts.registry.apply(name) { session, moment in session.networkReturned(delay: delay, at: moment)
            }
        }
    }

    /// Waits until the changes of these sessions that only this host has are in etcd, unless they cannot be
    /// published now.
    ///
    /// The sessions are about to leave, so none of them sends anything new meanwhile.
    func waitUntilPublished(_ names: Set<SessionName>) async {
        await leavers.wait(for: names) {
            isPublishing($0)
        }
    }

    /// Waits while `isNeeded` is true, for 30 seconds at most.
    ///
    /// The condition is checked whenever a session has changed.
    func wait(while isNeeded: () -> Bool) async {
        await leavers.wait(while: isNeeded)
    }

    /// Whether this host shares any session.
    var hasSharedSessions: Bool { !sessions.isEmpty || !joining.isEmpty }

    /// Resumes a session that was about to leave the fleet and now stays.
    func cancelDeparture(_ name: SessionName) {
        if let attempt = waiting[name] { ask(attempt, of: name) }
    }

    /// Removes a session that is no longer configured.
    func sessionRemoved(_ name: SessionName) {
        remove(name)
        left[name] = nil
    }

    /// Stops sharing a session on this host.
    ///
    /// - Returns: `true` if this host took part in the session.
    @discardableResult
    private func remove(_ name: SessionName) -> Bool {
        let (session, waiting) = (sessions.removeValue(forKey: name), joining.removeValue(forKey: name))
        if let attempt = self.waiting.removeValue(forKey: name) {
            refreshes?.supersededByFleet(attempt, for: name)
        }
        removed.forget(name)
        alarm.plan(name, at: nil)
        session?.leaveFleet()
        leavers.look()
        return session != nil || waiting != nil
    }

    /// Drops all state, because the agent locks or stops.
    func forget() {
        store.close()
        reopening?.cancel()
        announcements.end()
        removed.forget()
        for session in sessions.values { session.end() }
        sessions = [:]
        joining = [:]
        left = [:]
        waiting = [:]
        alarm.cancel()
        leavers.look()
    }

    /// Stops sharing a session from which the user has logged out on this host only.
    ///
    /// The other hosts keep their login. This host takes no part until the user logs in here.
    func leave(_ name: SessionName) {
        guard remove(name) else { return }
        left[name] = DepartedSession()
        let gone = SessionSnapshot(loggedOutAt: parts.timekeeper.moment)
        parts.storeThread.run { _ = $0.commit(name, gone) }
    }

    func hasLeft(_ name: SessionName) -> Bool { left[name] != nil }

    /// Records the state in etcd of a session that this host does not share any more, for a login that is
    /// about to begin here.
    func note(_ readResult: FleetReadResult) { left[readResult.session]?.readResult = readResult }

    /// Returns the status of a session, including the reason its login is unknown and a warning about
    /// unpublished changes.
    func status(of session: Session) -> SessionStatus {
        var status = session.status
        if status.state == .loggedOut, let blank = blank(of: status.name) {
            (status.reason, status.message, status.remedy) = (nil, blank.sentence, blank.remedy)
        } else if let remark = sessions[status.name].flatMap({ GrantWarning($0, in: status.state) }) {
            status.remarks.append(remark)
        }
        return status
    }

    // MARK: Time

    /// Schedules the next action of a session's ``FleetMember`` after its state has changed.
    func changed(_ session: SharedSession) {
        guard sessions[session.name] === session else { return }
        alarm.plan(session.name, at: session.member.wakeTime)
        leavers.look()
    }

    /// Continues the sessions whose time has come.
    func timeReached() {
        for name in alarm.takeDue() {
            sessions[name]?.apply { member, now in member.timeReached(now) }
        }
        alarm.set()
    }

    // MARK: Work

    /// Sends a request to the shared store, and passes its result to `then` in a later turn of the event
    /// loop.
    ///
    /// `call` runs elsewhere: it needs nothing of the event loop.
    func call<Value: Sendable>(
        _ call: @escaping @concurrent @Sendable () async throws(FleetStoreError) -> Value,
        then: @escaping (Result<Value, FleetStoreError>) -> Void
    ) {
        parts.work.begin()
        parts.tasks.start {
            let result: Result<Value, FleetStoreError>
            do throws(FleetStoreError) {
                result = .success(try await call())
            } catch {
                result = .failure(error)
            }
            then(result)
            self.parts.work.end()
        }
    }

    /// Runs `action` after a delay, for operations that cannot be done now.
    @discardableResult
    func later(
        after delay: TimeAmount = FleetCoordinator.delay,
        _ action: @escaping () -> Void
    ) -> Scheduled<Void> {
        eventLoop.assumeIsolated().scheduleTask(in: delay, action)
    }
}

// MARK: State

extension FleetCoordinator {
    /// The store that the hosts share, or `nil` while it is not open.
    var sharing: (any FleetSharing)? { store.sharing }

    /// Waits until the store is open or has failed to open.
    func waitUntilOpened() async {
        await store.waitUntilOpened()
    }

    /// Opens the shared store even if this host shares no session, and waits until it is open or has failed
    /// to open.
    func openAnyway() async {
        if sharing == nil { open() }
        await store.waitUntilOpened()
    }

    /// Reads the sessions again whose latest operation has failed, so that the user is not told of an error that
    /// is corrected.
    func readFailedSessions() {
        for (name, session) in sessions where session.storeError != nil { lookAgain(at: name) }
    }

    /// Returns the reason why it is unknown whether the session is logged in, or `nil` if that is known or
    /// the session is not shared.
    func blank(of name: SessionName) -> FleetUnknownReason? {
        if let joining = joining[name] {
            guard !joining.knowsLogin else { return nil }
            return storeError.map { .troubled($0) } ?? .awaited
        }
        guard let session = sessions[name], session.isUnseen else { return nil }
        return (session.storeError ?? storeError).map { .troubled($0) } ?? .awaited
    }

    /// Returns the reason the fleet cannot serve a session, or `nil` if it can.
    ///
    /// The reason is an error, or a wait during which no host may refresh.
    func silence(on name: SessionName) -> FleetUnknownReason? {
        if let storeError = sessions[name]?.storeError ?? storeError { return .troubled(storeError) }
        return sessions[name].flatMap { FleetWait(of: $0, port) }.map { .waiting($0) }
    }

    var isReachable: Bool? { sharing != nil && storeError == nil }

    func generation(of name: SessionName) -> UInt64? { sessions[name]?.member.memory.record?.generation }

    /// The error that makes the store unavailable, or `nil` if there is none.
    var storeError: FleetStoreError? { store.storeError }

    /// Returns the name `name` alone, or the names of all shared sessions if `name` is `nil`.
    func names(_ name: SessionName?) -> Set<SessionName> {
        name.map { [$0] } ?? Set(left.keys).union(sessions.keys).union(joining.keys)
    }

    /// Returns the session if it waits for the store to be opened, otherwise `nil`.
    func joiningSession(_ name: SessionName) -> JoiningSession? { joining[name] }

    var isOpening: Bool { store.isOpening }

    /// The error that opening the store has failed with, or `nil` if it succeeded or was not tried.
    var openingTrouble: FleetStoreError? { store.failure }

    /// The shared session called `name`, or `nil` if this host shares no such session, or not yet.
    subscript(name: SessionName) -> SharedSession? { sessions[name] }

    func lookAgain(at name: SessionName) {
        sessions[name]?.apply { member, now in member.changed(at: now) }
    }

    /// Reads a session's record from etcd, and waits until the resulting actions are finished or have failed.
    func look(at name: SessionName) async {
        lookAgain(at: name)
        await leavers.wait(while: { sessions[name]?.member.isAtRest == false })
    }

    /// Shares a session again from which the user has logged out on this host only, or all such sessions if
    /// `name` is `nil`.
    func rejoin(_ name: SessionName?) {
        for name in names(name) where hasLeft(name) {
            guard let kept = parts.registry[name] else { continue }
            left[name] = nil
            // Otherwise the next start of the agent would find the logout in the store.
            parts.storeThread.run { try? $0.forget(name) }
            join(name, kept.settings, nil)
            parts.registry.apply(name) { session, _ in session.rejoined() }
        }
        start()
    }
}

// MARK: Refreshes

extension FleetCoordinator {
    /// Asks the fleet whether this host may send the session's refresh token.
    func ask(_ number: AttemptNumber, of name: SessionName) {
        guard let session = sessions[name] else {
            guard store.isOpening, joining[name] != nil else {
                refreshes?.refused(number, .unreachable(absence), for: name)
                return
            }
            waiting[name] = number
            refreshes?.held(number, for: name)
            return
        }
        waiting[name] = number
        // An interrupted request from before the agent stopped is not sent again: only its response is
        // searched for here.
        guard !leavers.contains(name) || session.member.isInterrupted else {
            refreshes?.held(number, for: name)
            return
        }
        // The fleet has granted this attempt already.
        guard session.attempt?.number == number, session.attempt?.fence != nil else {
            return session.reserve(number)
        }
        granted(number, of: name)
    }

    /// The error while the shared store is not open.
    private var absence: FleetStoreError { store.failure ?? .unasked }

    /// Lets the attempt continue, because the fleet permits this host to send the refresh token.
    func granted(_ number: AttemptNumber, of name: SessionName) {
        guard waiting[name] == number else { return }
        waiting[name] = nil
        refreshes?.granted(number, for: name)
    }

    /// Returns the deadlines for the request of an attempt, or `nil` if the session is not shared.
    func fence(of number: AttemptNumber, _ name: SessionName) -> RefreshRequestDeadlines? {
        guard let session = sessions[name], session.attempt?.number == number else { return nil }
        return session.attempt?.fence
    }

    /// Withdraws the request to the fleet for an attempt that the session does not make, or that has ended.
    func withdraw(_ number: AttemptNumber, of name: SessionName) {
        sessions[name]?.withdraw(number)
    }

    /// Handles the outcome of an attempt.
    ///
    /// The fleet gets it before the session does.
    func answered(
        _ number: AttemptNumber,
        _ outcome: RefreshOutcome,
        of name: SessionName
    ) -> RefreshOutcomeRecipient {
        guard let session = sessions[name], session.attempt?.number == number else { return .session }
        return session.answered(outcome)
    }

    /// Revokes the tokens of a response if the session could not use them.
    func recordTokens(of outcome: RefreshOutcome, _ number: AttemptNumber, of name: SessionName) {
        guard let session = sessions[name], session.attempt?.number == number else { return }
        session.tokensLost(outcome)
    }
}

// MARK: Records

extension FleetCoordinator {
    /// Takes over a session's write to the disk if the fleet has to know of the change.
    ///
    /// - Returns: `true` if the commit was taken over.
    func takes(_ commit: CommitNumber, _ snapshot: SessionSnapshot, of name: SessionName) -> Bool {
        if hasLeft(name), let kept = parts.registry[name], kept.session.isLogin(commit),
            let binding = kept.settings.fleetBinding
        {
            // A login to a session that had left brings this host back into the fleet.
            let keeping = left.removeValue(forKey: name)?.keeping(binding)
            joining[name] = JoiningSession(kept.settings, binding, keeping: keeping, port)
            start()
        }
        guard let session = sessions[name] else { return false }
        let shared = CommitPublication(number: commit, snapshot: snapshot, shared: session)
        if shared.isTaken() { return true }
        guard session.isKeeping else { return false }
        session.wait(commit)
        return true
    }

    /// Returns the snapshot with this host's fleet state added.
    func marked(_ snapshot: SessionSnapshot, of name: SessionName) -> SessionSnapshot {
        guard let session = sessions[name] else { return snapshot }
        var marked = snapshot
        marked.fleet = session.keeping
        return marked
    }

    /// Returns whether `effect` has to wait for the fleet, which then runs it later.
    func defersRevocation(_ effect: Effect, of name: SessionName) -> Bool {
        sessions[name]?.defersRevocation(effect) ?? false
    }

    /// Returns whether the record of a session that has ended stays on the disk, and erases its tokens.
    ///
    /// The record of a session that has left is the only sign of that. In the others a later login must win over the
    /// logout, and an etcd restored from a backup must not undo the logout.
    func keepsRecord(of name: SessionName) -> Bool {
        if hasLeft(name) { return true }
        guard let session = sessions[name], session.member.memory.record != nil else { return false }
        session.requestTokenErasure()
        return true
    }
}

extension FleetPersistentState {
    /// Whether this host has a change that is not in etcd yet, or the state in etcd is unknown.
    fileprivate var hasUnpublishedChanges: Bool {
        isUnpublished || answer != nil || sending != nil || isRestored || record == nil
    }
}
