// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The sessions that this host shares with others: what they want of the fleet, and what the fleet tells them.
///
/// Confined to the agent's event loop.
final class FleetCoordinator {
    /// How long what cannot be done waits until it is tried again.
    static let pause = TimeAmount.seconds(10)
    /// Over which hosts come back to an etcd that was away.
    private static let spread = Duration.seconds(2)

    private let port: FleetPort?
    private let eventLoop: any EventLoop
    /// Rings when a member looks again by itself.
    private let alarm: Alarm<SessionName>
    private var sessions: [SessionName: SharedSession] = [:]
    /// Sessions that wait for the shared store to be opened.
    private var joining: [SessionName: JoiningSession] = [:]
    /// Sessions that a person has logged out at this host alone.
    private var left: [SessionName: DepartedSession] = [:]
    /// Rooms for answers that the fleet has been asked for.
    private var reservations: [SessionName: RefreshQueue.Reservation] = [:]
    private let store = SharedStore()
    /// When the store is tried again that could not be opened.
    private var reopening: Scheduled<Void>?
    /// Sessions that are about to leave.
    private let leavers: DepartingSessions
    let announcements: HostAnnouncements
    let removed = RemovedHosts()

    init(_ port: FleetPort?, eventLoop: any EventLoop, alarm: Alarm<SessionName>) {
        self.port = port
        self.eventLoop = eventLoop
        self.alarm = alarm
        leavers = DepartingSessions(eventLoop: eventLoop)
        announcements = HostAnnouncements(port, eventLoop: eventLoop)
    }

    /// Calls `ring` on the event loop when a member may be due; ``timeReached(in:)`` follows.
    func onFire(_ ring: @escaping () -> Void) {
        alarm.onFire(ring)
    }

    // MARK: Coming and going

    /// Takes part in a session from the next ``start(in:)`` on.
    func join(_ name: SessionName, _ settings: SessionSettings, _ content: StoredSession.Content?) {
        guard let port, let binding = settings.fleetBinding else { return }
        let joining = JoiningSession(settings, binding, content, port)
        if joining == nil { left[name] = DepartedSession() }
        self.joining[name] = joining
    }

    /// Begins with the sessions that have joined, and watches what becomes of them.
    func start(in agent: isolated SessionAgent) {
        guard let port, !joining.isEmpty else { return }
        guard let sharing else { return store.open(port, in: agent) }
        begin(sharing, in: agent)
    }

    /// The shared store has been opened, or cannot be opened now.
    func opened(_ result: Result<any FleetSharing, FleetStoreError>, in agent: isolated SessionAgent) {
        reopening?.cancel()
        switch result {
        case .success(let sharing): begin(sharing, in: agent)
        case .failure(let trouble):
            refuseWaiting(in: agent)
            agent.ports.logger.error("fleet: not opened", metadata: ["error": "\(trouble.sentence)"])
            reopening = later { agent.fleet.start(in: agent) }
        }
    }

    private func begin(_ sharing: any FleetSharing, in agent: isolated SessionAgent) {
        guard let port, !joining.isEmpty else { return }
        let beginning = joining
        joining = [:]
        for (name, joining) in beginning {
            sessions[name] = SharedSession(
                name,
                joining.keeping,
                joining.binding,
                timing: joining.timing,
                sharing: sharing,
                host: port.host
            )
        }
        store.follow(Set(sessions.keys), in: agent)
        announcements.announce(in: agent)
        for (name, joining) in beginning {
            guard let session = sessions[name] else { continue }
            if let login = joining.login {
                // The latest of the logins that the hosts have made before is the fleet's.
                let time = FleetTime(seconds: login.loggedInAt.secondsSince1970)
                SharedCommit(number: nil, snapshot: login, shared: session).logIn(time: time, in: agent)
            } else if joining.keeping?.memory.owes != false {
                session.apply(in: agent) { member, now in member.started(at: now) }
            }
            // The watch shows the others in one read.
            if let waiting = reservations[name] { session.reserve(waiting.attempt, in: agent) }
        }
    }

    /// Tells the sessions that wait for the shared store that it cannot be opened now.
    private func refuseWaiting(in agent: isolated SessionAgent) {
        let waiting = reservations
        reservations = [:]
        for (name, reservation) in waiting {
            agent.refreshes.refused(reservation.attempt, .unreachable(absence), for: name, in: agent)
        }
        for name in joining.keys { agent.requests.tokens.fleetReadQueue.end(of: name, in: agent) }
    }

    /// The watch tells something.
    func hear(_ news: FleetEvent, in agent: isolated SessionAgent) {
        switch news {
        case .changed(let name): sessions[name]?.apply(in: agent) { member, now in member.changed(at: now) }
        case .shown(let sight): sessions[sight.session]?.show(sight, in: agent)
        case .connected: noteBack(in: agent)
        // The handshake is over by then.
        case .resumed: later(after: .seconds(1)) { agent.rest.again() }
        case .trouble(let trouble): noteAway(trouble, in: agent)
        }
    }

    private func noteAway(_ trouble: FleetStoreError, in agent: isolated SessionAgent) {
        guard store.noteAway(trouble) else { return }
        // What it would have to take has to wait.
        leavers.look()
        agent.ports.logger.warning("fleet: etcd is away", metadata: ["error": "\(trouble.sentence)"])
        agent.publish(.fleetAway)
    }

    /// What could not be reserved meanwhile is tried again, not by all hosts in the same instant.
    private func noteBack(in agent: isolated SessionAgent) {
        guard store.noteBack() else { return }
        agent.ports.logger.notice("fleet: etcd is back")
        agent.publish(.fleetBack)
        announcements.announce(in: agent)
        for name in sessions.keys {
            let delay = FleetCoordinator.spread * agent.ports.chance()
            agent.apply(name) { session, moment in session.networkReturned(delay: delay, at: moment) }
        }
    }

    /// Waits until etcd has what this host alone has of these sessions, as far as that can be had now, and lets none of
    /// them send anything more meanwhile: they are about to leave.
    func waitUntilPublished(_ names: Set<SessionName>, in agent: isolated SessionAgent) async {
        await leavers.wait(for: names) {
            UnpublishedChange(of: $0, in: agent)?.isPublishing(for: $0, in: agent) == true
        }
    }

    /// Waits as long as `isNeeded`, which is asked whenever a session has changed, and half a minute at most.
    func wait(while isNeeded: () -> Bool, isolation: isolated (any Actor)? = #isolation) async {
        await leavers.wait(while: isNeeded)
    }

    /// Whether this host shares any session.
    var hasSharedSessions: Bool { !sessions.isEmpty || !joining.isEmpty }

    /// Goes on with a session that has not left after all.
    func cancelDeparture(_ name: SessionName, in agent: isolated SessionAgent) {
        if let reservation = reservations[name] { ask(reservation, in: agent) }
    }

    /// A session is not configured any more.
    func depart(_ name: SessionName, in agent: isolated SessionAgent) {
        remove(name, in: agent)
        left[name] = nil
        reservations[name] = nil
    }

    /// - Returns: whether this host took part in the session.
    @discardableResult
    private func remove(_ name: SessionName, in agent: isolated SessionAgent) -> Bool {
        let (session, waiting) = (sessions.removeValue(forKey: name), joining.removeValue(forKey: name))
        removed.forget(name)
        alarm.plan(name, at: nil)
        session?.letGo(in: agent)
        leavers.look()
        return session != nil || waiting != nil
    }

    /// The agent locks or stops.
    func forget() {
        store.close()
        reopening?.cancel()
        announcements.end()
        removed.forget()
        for session in sessions.values { session.end() }
        sessions = [:]
        joining = [:]
        left = [:]
        reservations = [:]
        alarm.planNothing()
        leavers.look()
    }

    /// Logged out at this host alone: the others go on, and this one takes no part until somebody logs in here.
    func leave(_ name: SessionName, in agent: isolated SessionAgent) {
        guard remove(name, in: agent) else { return }
        left[name] = DepartedSession()
        let gone = SessionSnapshot(loggedOutAt: agent.moment)
        agent.storeThread.run { _ = $0.commit(name, gone) }
    }

    func hasLeft(_ name: SessionName) -> Bool { left[name] != nil }

    /// Notes what the fleet has of a session that this host has left, for a login that is about to begin here.
    func note(_ sight: FleetReadResult) { left[sight.session]?.sight = sight }

    /// The session as it stands, with what the fleet knows of it that the session itself does not.
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

    /// A member has changed.
    func changed(_ session: SharedSession) {
        guard sessions[session.name] === session else { return }
        alarm.plan(session.name, at: session.member.wakeTime)
        leavers.look()
    }

    /// Wakes the members that are due.
    func timeReached(in agent: isolated SessionAgent) {
        for name in alarm.takeDue() {
            sessions[name]?.apply(in: agent) { member, now in member.timeReached(now) }
        }
        alarm.set()
    }

    // MARK: Work

    /// Asks the shared store for something, and hands on what came of it in a later turn of the loop.
    func call<Value: Sendable>(
        in agent: isolated SessionAgent,
        _ call: @escaping @Sendable () async throws(FleetStoreError) -> Value,
        then: @escaping (Result<Value, FleetStoreError>) -> Void
    ) {
        agent.work.begin()
        Task {
            let result: Result<Value, FleetStoreError>
            do throws(FleetStoreError) {
                result = .success(try await call())
            } catch {
                result = .failure(error)
            }
            then(result)
            agent.work.end()
        }
    }

    /// Does `action` after a pause, as it cannot be done now.
    @discardableResult
    func later(
        after pause: TimeAmount = FleetCoordinator.pause,
        _ action: @escaping () -> Void
    ) -> Scheduled<Void> {
        eventLoop.assumeIsolated().scheduleTask(in: pause, action)
    }
}

// MARK: Questions

extension FleetCoordinator {
    /// The store that the hosts share; `nil` while it is not open.
    var sharing: (any FleetSharing)? { store.sharing }

    /// Waits until it is open, or cannot be opened now.
    func untilOpened(isolation: isolated (any Actor)? = #isolation) async {
        await store.untilOpened(isolation: isolation)
    }

    /// Has it opened also if this host shares nothing, and waits as ``untilOpened(isolation:)`` does.
    func openAnyway(in agent: isolated SessionAgent) async {
        if let port, sharing == nil { store.open(port, in: agent) }
        await store.untilOpened(isolation: agent)
    }

    /// `nil`: it is known, or the session is this host's alone.
    func blank(of name: SessionName) -> FleetUnknownReason? {
        if let joining = joining[name] {
            guard !joining.knowsLogin else { return nil }
            return trouble.map { .troubled($0) } ?? .awaited
        }
        guard let session = sessions[name], session.isUnseen else { return nil }
        return (session.trouble ?? trouble).map { .troubled($0) } ?? .awaited
    }

    /// Why the fleet cannot be asked about a session, or does nothing for it; `nil`: it can, and may.
    func silence(on name: SessionName, in agent: isolated SessionAgent) -> FleetUnknownReason? {
        if let trouble = sessions[name]?.trouble ?? trouble { return .troubled(trouble) }
        return sessions[name].flatMap { FleetWait(of: $0, in: agent) }.map { .waiting($0) }
    }

    /// Why it is not open.
    var trouble: FleetStoreError? { store.trouble }

    /// The shared sessions, or the one that is named.
    func names(_ name: SessionName?) -> Set<SessionName> {
        name.map { [$0] } ?? Set(left.keys).union(sessions.keys).union(joining.keys)
    }

    /// A session that waits for the store to be opened; `nil`: it does not.
    func joiningSession(_ name: SessionName) -> JoiningSession? { joining[name] }

    var isOpening: Bool { store.isOpening }

    /// Why the store could not be opened; `nil`: it could, or has not been tried.
    var openingTrouble: FleetStoreError? { store.failure }

    /// What this host does for a session; `nil`: it shares none of this name, or not yet.
    subscript(name: SessionName) -> SharedSession? { sessions[name] }

    func lookAgain(at name: SessionName, in agent: isolated SessionAgent) {
        sessions[name]?.apply(in: agent) { member, now in member.changed(at: now) }
    }

    /// Has a session looked at, and waits until what follows from that is done, or cannot be done now.
    func look(at name: SessionName, in agent: isolated SessionAgent) async {
        lookAgain(at: name, in: agent)
        await leavers.wait(while: { sessions[name]?.member.isAtRest == false })
    }

    /// Takes part again in sessions that a person has logged out here.
    func rejoin(_ name: SessionName?, in agent: isolated SessionAgent) {
        for name in names(name) where hasLeft(name) {
            guard let kept = agent.sessions[name] else { continue }
            left[name] = nil
            // Else the next start would find the logout there.
            agent.storeThread.run { try? $0.forget(name) }
            join(name, kept.settings, nil)
            agent.apply(name) { session, _ in session.rejoined() }
        }
        start(in: agent)
    }
}

// MARK: Refreshes

extension FleetCoordinator {
    /// Asks the fleet whether this host may send the session's refresh token.
    func ask(_ reservation: RefreshQueue.Reservation, in agent: isolated SessionAgent) {
        let (name, number) = (reservation.session, reservation.attempt)
        guard let session = sessions[name] else {
            guard store.isOpening, joining[name] != nil else {
                return agent.refreshes.refused(number, .unreachable(absence), for: name, in: agent)
            }
            reservations[name] = reservation
            return agent.refreshes.held(number, for: name, in: agent)
        }
        reservations[name] = reservation
        // What was sent before the agent was stopped is not sent again: its answer is looked for here.
        guard !leavers.contains(name) || session.member.isInterrupted else {
            return agent.refreshes.held(number, for: name, in: agent)
        }
        // Let in again after another host has given up.
        guard session.attempt?.number == number, session.attempt?.fence != nil else {
            return session.reserve(number, in: agent)
        }
        granted(number, of: name, in: agent)
    }

    /// Why a session takes no part now.
    private var absence: FleetStoreError {
        guard port != nil else {
            return FleetStoreError(.unavailable, "the agent was started without a fleet: restart it")
        }
        return store.failure ?? .unasked
    }

    /// This host may send.
    func granted(_ number: AttemptNumber, of name: SessionName, in agent: isolated SessionAgent) {
        guard let reservation = reservations[name], reservation.attempt == number else { return }
        reservations[name] = nil
        agent.refreshes.granted(reservation, in: agent)
    }

    /// When the request of an attempt may be under way; `nil`: at any time, the session is this host's alone.
    func fence(of number: AttemptNumber, _ name: SessionName) -> ExchangeDeadlines? {
        guard let session = sessions[name], session.attempt?.number == number else { return nil }
        return session.attempt?.fence
    }

    /// The session does not make this attempt, or has had an answer to it.
    func withdraw(_ number: AttemptNumber, of name: SessionName, in agent: isolated SessionAgent) {
        sessions[name]?.withdraw(number, in: agent)
    }

    /// The server has answered an attempt: the fleet hears of it first.
    func answered(
        _ number: AttemptNumber,
        _ outcome: RefreshOutcome,
        of name: SessionName,
        in agent: isolated SessionAgent
    ) -> SharedAttempt.Addressee {
        guard let session = sessions[name], session.attempt?.number == number else { return .session }
        return session.answered(outcome, in: agent)
    }

    /// The session has been told: whether it makes a record of the tokens has shown.
    func noteTokens(
        of outcome: RefreshOutcome,
        _ number: AttemptNumber,
        of name: SessionName,
        in agent: isolated SessionAgent
    ) {
        guard let session = sessions[name], session.attempt?.number == number else { return }
        session.tokensLost(outcome, in: agent)
    }
}

// MARK: Records

extension FleetCoordinator {
    /// Takes over what a session wants to have made durable, if the fleet has to know of it.
    func takes(
        _ commit: CommitNumber,
        _ snapshot: SessionSnapshot,
        of name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        if hasLeft(name), let port, let kept = agent.sessions[name], kept.session.isLogin(commit),
            let binding = kept.settings.fleetBinding
        {
            // A login to a session that had left brings the host back.
            let keeping = left.removeValue(forKey: name)?.keeping(binding)
            joining[name] = JoiningSession(kept.settings, binding, keeping: keeping, port)
            start(in: agent)
        }
        guard let session = sessions[name] else { return false }
        let shared = SharedCommit(number: commit, snapshot: snapshot, shared: session)
        if shared.isTaken(in: agent) { return true }
        guard session.isKeeping else { return false }
        session.wait(commit)
        return true
    }

    /// With what this host keeps of the fleet beside it.
    func marked(_ snapshot: SessionSnapshot, of name: SessionName) -> SessionSnapshot {
        guard let session = sessions[name] else { return snapshot }
        var marked = snapshot
        marked.fleet = session.keeping
        return marked
    }

    /// Whether `effect` has to wait for the fleet; it is done then.
    func holdsBack(_ effect: Effect, of name: SessionName) -> Bool {
        sessions[name]?.holdsBack(effect) ?? false
    }

    /// Has the tokens of a session go from the disk, and what this host knows of the fleet stay: a later login is to win
    /// over the logout, and an etcd that is put back must not undo it.
    ///
    /// - Returns: whether there is such a place; else the record is of no use.
    func keepPlace(of name: SessionName, in agent: isolated SessionAgent) -> Bool {
        guard let session = sessions[name], session.member.memory.record != nil else { return false }
        session.requestTokenErasure(in: agent)
        return true
    }
}

extension FleetPersistentState {
    /// Something of this host's is not in etcd yet, or etcd's state is in doubt.
    fileprivate var owes: Bool {
        isNews || answer != nil || sending != nil || isRestored || record == nil
    }
}
