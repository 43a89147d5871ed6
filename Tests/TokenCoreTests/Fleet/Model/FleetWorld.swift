// SPDX-License-Identifier: MIT

@testable import TokenCore

/// A fleet of a few hosts with one session, etcd and an authorization server, all at one moment.
///
/// The hosts are the real ``FleetMember``; etcd, the server, the clock and the faults are the model's.
struct FleetWorld {
    /// How often something may still happen.
    struct Budget: Hashable {
        /// The access token ends.
        var due = 0
        /// Time passes while a host has something under way.
        var slow = 0
        /// A host stops and keeps its disk.
        var crash = 0
        /// An agent is killed, and the guard of its request goes on and records the answer.
        var kill = 0
        /// A host is destroyed.
        var gone = 0
        /// A request or an answer of the token endpoint is lost.
        var lost = 0
        /// The server acts in time, and its answer comes at any later moment.
        var tardy = 0
        /// An answer of etcd is lost.
        var unanswered = 0
        var login = 0
        var logout = 0
        /// A gateway answers 502 after the server has acted.
        var gateway = 0
        /// The server answers 429.
        var busy = 0
        /// A replica of the server lags, and refuses a token that it does not know yet.
        var lag = 0
        /// The server ends the login by itself.
        var ended = 0
        /// A host is given a newer key of the fleet.
        var rekey = 0
        /// etcd is put back to an old snapshot.
        var restore = 0
        /// A watch is late.
        var late = 0
    }

    struct Request {
        var token: Int
        var attempt: AttemptID
        var sentAt: Int64
        /// A loss that this request brings about is not the protocol's fault.
        var isExcused: Bool
        /// The host on whose disk its guard records the answer; `nil`: nobody does.
        var keeper: Int?
        /// What the server has answered, if that is still on its way.
        var answer: FleetRefreshOutcome?
        /// When the connection is reset although an answer is on its way.
        var readDeadline: Int64 = .max
    }

    /// A transaction that nobody waits for any more.
    struct Delayed {
        var transaction: FleetTransaction
        var errand: FleetWrite
        /// A person's login or logout.
        var isNews: Bool
        var leaseEnds: Int64
        /// As which the sender knows the record's bytes.
        var sealing: Int
    }

    struct Host {
        /// `nil`: it is down.
        var member: FleetMember?
        var isGone = false
        /// What is on its disk.
        var disk: FleetPersistentState
        /// The answer to an attempt, recorded before its agent had it.
        var recording: FleetRefreshOutcome?
        /// What it waits for: a transaction, its disk, or the right moment to send.
        var pending: FleetAction?
        var request: Request?
        var leaseEnds: Int64 = 0
        /// Which bytes of the record it has seen last.
        var sealing = 0
        /// It reserved although a late answer was there.
        var isOverLate = false
        /// Time has passed while it waited for that; it was paid for once.
        var isPaused = false
        /// What its watch has told it of and has not been passed on.
        var heard: FleetSnapshot?
        /// Its session waits to be told whether it may refresh.
        var isAsking = false
        /// Who brought the tokens that its session has.
        var tokens: AttemptID?
        /// Its session does not want to refresh before.
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
    /// Nobody dawdles: time passes only when no host has anything to do.
    ///
    /// No login may be lost then, if there is a grace.
    var isPrompt = false
    var isDue = false
    var attempts: UInt64 = 0
    /// The login that a person made last, and whether one has logged out of it since.
    var current: Lineage
    var isOut = false
    /// The logins that etcd has had.
    var written: Set<Lineage> = []
    /// Watches show what has changed, and hosts need not look.
    var isShown = false
    /// The hosts draw different moments when they wait for the same.
    var hasTurns = false
    /// Persons on different hosts log in within one second.
    var isOneSecond = false
    var wasRestored = false
    /// What this very step did wrong.
    var violation: String?

    /// A fleet whose hosts all know of the one login there is.
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

    /// Lets a host react to an event, and does what it asks for at once, but for what takes time.
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

    /// What the session makes of it.
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

    /// What a read of etcd shows to a host.
    func shown(to index: Int) -> FleetSnapshot {
        var view = etcd.view(at: now)
        if fault == .restoreUnseen { view.place.cluster = 1 }
        if fault == .lateAnswersIgnored { view.lates.removeAll { $0.parent == view.record?.generation } }
        if fault == .logoutForgotten, let record = view.record, record.status == .out,
            let own = hosts[index].disk.record, own.isLive, own.lineage == record.lineage
        {
            view.record?.status = .live
            view.record?.generation = own.generation - 1
        }
        return view
    }

    /// An answer or a login takes time to become durable; anything else can be read in etcd again.
    private mutating func keep(_ memory: FleetPersistentState, _ index: Int) {
        let isNew = memory.answer != nil && memory.answer?.attempt != hosts[index].disk.answer?.attempt
        guard !isNew, !memory.isNews else {
            hosts[index].pending = .keep(memory)
            return
        }
        finishKeeping(memory, index)
    }

    /// It is durable; a session has the tokens of an answer from then on.
    mutating func finishKeeping(_ memory: FleetPersistentState, _ index: Int) {
        if let answer = memory.answer, answer.attempt != hosts[index].disk.answer?.attempt {
            hosts[index].tokens = answer.attempt
        }
        hosts[index].disk = memory
        forgetRecording(index)
        let instant = instant
        tell(index) { $0.kept(at: instant) }
    }

    /// What the host has on its disk is younger, or the machine with the guard is down.
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
