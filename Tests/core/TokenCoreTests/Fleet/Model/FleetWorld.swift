// SPDX-License-Identifier: MIT

@testable import TokenCore

/// The state of a few hosts with one session, etcd and an authorization server, at one instant.
///
/// The hosts are instances of ``FleetMember``. etcd, the server, the clock and the faults are modeled.
struct FleetWorld {
    /// The number of times that each event may still happen.
    struct Budget: Hashable {
        /// The access token expires.
        var due = 0
        /// Time passes while a host has a pending action.
        var slow = 0
        /// A host stops and keeps its disk.
        var crash = 0
        /// An agent is killed, and the guard of its request keeps running and records the response.
        var kill = 0
        /// A host is destroyed.
        var gone = 0
        /// A request to the token endpoint, or its response, is lost.
        var lost = 0
        /// The server acts in time, and its response arrives at any later time.
        var tardy = 0
        /// A response of etcd is lost.
        var unanswered = 0
        var login = 0
        var logout = 0
        /// A gateway answers 502 after the server has acted.
        var gateway = 0
        /// The server answers 429.
        var busy = 0
        /// A replica of the server lags, and rejects a token that it does not know yet.
        var lag = 0
        /// The server ends the login by itself.
        var ended = 0
        /// A host gets a newer key of the fleet.
        var rekey = 0
        /// etcd is restored from an old snapshot.
        var restore = 0
        /// A watch is late.
        var late = 0
    }

    struct Request {
        var token: Int
        var attempt: AttemptID
        var sentAt: Int64
        /// Whether a loss caused by this request is not an error of the protocol.
        var isExcused: Bool
        /// The host on whose disk a guard records the response, or `nil` if no guard does.
        var keeper: Int?
        /// The delayed response of the server, if any.
        var answer: FleetRefreshOutcome?
        /// The time when the connection is reset even if a response is delayed.
        var readDeadline: Int64 = .max
    }

    /// A transaction for whose result no host waits any more.
    struct Delayed {
        var transaction: FleetTransaction
        var errand: FleetWrite
        /// Whether the transaction writes a login or logout by the user.
        var isUnpublished: Bool
        var leaseEnds: Int64
        /// The sealing of the record that the sender has seen last.
        var sealing: Int
    }

    struct Host {
        /// The state of the running host, or `nil` while it is down.
        var member: FleetMember?
        var isGone = false
        /// The state on the host's disk.
        var disk: FleetPersistentState
        /// The response to an attempt, recorded before its agent had it.
        var recording: FleetRefreshOutcome?
        /// The action that the host waits for: a transaction, its disk, or the time to send.
        var pending: FleetAction?
        var request: Request?
        var leaseEnds: Int64 = 0
        /// The sealing of the record that the host has seen last.
        var sealing = 0
        /// Whether the host reserved an attempt although a late response existed.
        var isOverLate = false
        /// Whether time has passed during the pending action, which counts once against the budget.
        var isPaused = false
        /// The event of its watch that has not been delivered yet.
        var heard: FleetSnapshot?
        /// Whether the session waits for permission to refresh.
        var isAsking = false
        /// The attempt that obtained the session's tokens.
        var tokens: AttemptID?
        /// The time before which the session does not refresh.
        var postponed: Int64 = 0

        var isIdle: Bool { pending == nil && request == nil && member?.step == .idle }
    }

    let habit: Habit
    let fault: Fault?
    var confirmations = 0
    var budget: Budget
    var now: Int64 = 1_000_000
    var etcd = ModelEtcd()
    var snapshot: ModelEtcd?
    var server: ModelServer
    var hosts: [Host]
    var orphans: [Request] = []
    var delayed: [Delayed] = []
    /// Whether time passes only while no host has anything to do.
    ///
    /// If it does and there is a grace period, no login may be lost.
    var isPrompt = false
    var isDue = false
    var attempts: UInt64 = 0
    /// The user's most recent login.
    ///
    /// ``isOut`` is `true` after a logout from it.
    var current: Lineage
    var isOut = false
    /// The logins that have been written to etcd.
    var written: Set<Lineage> = []
    /// Whether watches deliver the changes, so that hosts do not need to read them.
    var isShown = false
    /// Whether hosts that wait for the same event wake at different times.
    var hasTurns = false
    /// Whether users on different hosts log in within one second.
    var isOneSecond = false
    var wasRestored = false
    /// The invariant that the last move broke.
    var violation: String?

    /// Creates a fleet whose hosts all have the same login.
    init(_ habit: Habit, hosts count: Int, _ budget: Budget, fault: Fault? = nil, confirmations: Int = 0) {
        self.habit = habit
        self.fault = fault
        self.confirmations = confirmations
        self.budget = budget
        server = ModelServer(habit: habit)
        current = Lineage(number: 1, id: 1)
        written = [current]
        let token = server.login()
        let record = FleetHeader(
            lineage: current,
            generation: 1,
            attempt: AttemptID(host: 1, random: 0),
            status: .live,
            proven: 0,
            tokenMark: token.mark,
            cluster: etcd.place.cluster
        )
        etcd.record = record
        var disk = FleetPersistentState()
        disk.record = record
        disk.place = etcd.place
        let timing = habit.timing
        hosts = (0..<count).map { _ in
            Host(member: FleetMember(disk, timing: timing), disk: disk, tokens: record.attempt)
        }
    }

    var instant: Instant { .seconds(now) }

    mutating func nextAttempt(of host: Int) -> AttemptID {
        attempts += 1
        let share = hasTurns ? UInt64(host) << 62 : 0
        return AttemptID(host: UInt64(host) + 1, random: share + attempts)
    }

    // MARK: Hosts

    /// Delivers an event to a host, and performs its actions except those that take time.
    mutating func tell(_ index: Int, _ event: (inout FleetMember) -> [FleetAction]) {
        guard var member = hosts[index].member else { return }
        let actions = event(&member)
        hosts[index].member = member
        for action in actions { perform(action, index) }
    }

    private mutating func perform(_ action: FleetAction, _ index: Int) {
        let instant = instant
        note(action, index)
        switch action {
        case .look:
            let view = shown(to: index)
            hosts[index].sealing = etcd.sealing
            tell(index) { $0.looked(view, at: instant) }
        case .grantLease(let lifetime):
            hosts[index].leaseEnds = now + lifetime.wholeSeconds
            let place = shown(to: index).place
            tell(index) { $0.leaseGranted(lifetime, place, at: instant) }
        case .transact, .grant, .recover: hosts[index].pending = action
        case .keep(let memory): keep(memory, index)
        case .postpone(_, let until):
            hosts[index].postponed = until.seconds
        case .revoke(let attempt): revoke(attempt, index)
        case .hold, .refuse, .adopt, .ask, .asked, .finishNews: break
        }
    }

    /// Updates the state of the session after `action`.
    private mutating func note(_ action: FleetAction, _ index: Int) {
        switch action {
        case .grant, .recover, .postpone, .refuse: hosts[index].isAsking = false
        case .adopt(let header):
            hosts[index].isAsking = false
            hosts[index].tokens = header.attempt
        case .finishNews(_, .done(let header)): hosts[index].tokens = header.attempt
        case .look, .grantLease, .transact, .keep, .hold, .ask, .asked, .revoke, .finishNews: break
        }
    }

    /// Returns the snapshot that a host gets when it reads etcd.
    func shown(to index: Int) -> FleetSnapshot {
        var view = etcd.view(at: now)
        if fault == .restoreUnseen { view.place.cluster = 1 }
        if fault == .lateAnswersIgnored {
            view.lateResults.removeAll { $0.parent == view.record?.generation }
        }
        if fault == .logoutForgotten, let record = view.record, record.status == .out,
            let own = hosts[index].disk.record, own.isLive, own.lineage == record.lineage
        {
            view.record?.status = .live
            view.record?.generation = own.generation - 1
        }
        return view
    }

    /// Writes the host's state to its disk.
    ///
    /// Only a response or a login takes time to become durable. Everything else can be read from etcd again.
    private mutating func keep(_ memory: FleetPersistentState, _ index: Int) {
        let isNew = memory.answer != nil && memory.answer?.attempt != hosts[index].disk.answer?.attempt
        guard !isNew, !memory.isUnpublished else {
            hosts[index].pending = .keep(memory)
            return
        }
        finishKeeping(memory, index)
    }

    /// Completes a write to the host's disk.
    ///
    /// From then on, the session has the tokens of a response.
    mutating func finishKeeping(_ memory: FleetPersistentState, _ index: Int) {
        if let answer = memory.answer, answer.attempt != hosts[index].disk.answer?.attempt {
            hosts[index].tokens = answer.attempt
        }
        hosts[index].disk = memory
        forgetRecording(index)
        let instant = instant
        tell(index) { $0.kept(at: instant) }
    }

    /// Removes the recorded response, because the host's disk has newer state or the machine with the guard is down.
    mutating func forgetRecording(_ index: Int) {
        hosts[index].recording = nil
        for other in orphans.indices where orphans[other].keeper == index { orphans[other].keeper = nil }
    }

    private mutating func revoke(_ attempt: AttemptID, _ index: Int) {
        guard let answer = hosts[index].disk.answer, answer.attempt == attempt else { return }
        if answer.lineage == current, !isOut { violation = "I5 a token of the live login is revoked" }
        server.revoke(Int(answer.tokenMark) - 1)
    }
}
