// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import NIOPosix
import SealedStore
import TokenCore

/// All sessions, and everything that may be done with them; runs on the event loop that serves the socket.
///
/// So there is no hop between a request's bytes and the state it reads. Applying an event never suspends:
/// whatever takes long runs elsewhere and comes back as another event.
package actor SessionAgent {
    /// Whether refreshes may start.
    enum Phase: Equatable {
        case working
        /// The store is being opened, which needs no person; requests wait for it.
        case opening
        /// Waiting for what is in flight, to wipe the keys then.
        case locking
        case locked
        /// Waiting for what is in flight, to end then.
        case stopping
    }

    nonisolated let eventLoop: any EventLoop
    nonisolated private let executor: any SerialExecutor
    nonisolated package var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    let ports: AgentPorts
    let identity: AgentIdentity
    let pool: NIOThreadPool
    /// Where secrets are tried against the store.
    let guesses: GuessQueue
    /// A person is being asked whether the way the store opens may be changed.
    var asksAboutVault = false
    let scratch = OutputBuffer()
    let startedAt: Instant
    /// Is told a configuration as soon as it is in force, and says which of its sockets cannot be opened.
    private(set) var onConfiguration: @Sendable (AgentConfiguration) -> [UnopenedSocket] = { _ in [] }
    let onShutdownRequest: @Sendable () -> Void

    var configuration: AgentConfiguration {
        didSet { rules = RulesInForce(configuration) }
    }
    private(set) var rules: RulesInForce
    /// The lines of the log about sessions.
    let journal: SessionLog
    /// `nil`: nothing is written down.
    let trail: AuditTrail?
    var sessions: [SessionName: KeptSession] = [:]
    var phase = Phase.locked
    /// When the agent looks at its configuration by itself.
    var watch = ConfigurationWatch()
    /// The configuration is to be read again when the agent is unlocked.
    var owesReload = false
    /// Requests that came while the store was being opened.
    var arrivals: [Arrival] = []
    var openingWaiters: [CheckedContinuation<Void, Never>] = []
    /// Requests for tokens that wait, by the name the session knows them under.
    var calls: [WaiterID: TokenCall] = [:]
    var logins: [LoginNumber: LoginConversation] = [:]
    var subscribers: [ObjectIdentifier: Subscriber] = [:]
    var auditFollowers: [ObjectIdentifier: Subscriber] = [:]
    /// Requests that wait for a person's yes.
    var questions = OpenQuestions()
    /// Sessions taken out of the configuration while a refresh of theirs was under way.
    var departing: [SessionName: Session] = [:]
    /// Attempts that wait until their issuer can bear them, and those that have been let in.
    var held: [SessionName: AttemptStep] = [:]
    var admitted: [SessionName: (attempt: AttemptNumber, issuer: String)] = [:]
    var pacing: [String: IssuerPacing] = [:]
    var pacingTimers: [String: Scheduled<Void>] = [:]
    var reservations = ReservationQueue()
    var lent = LentSecrets()
    /// What is being done for peers of restricted sockets.
    var socketUse = SocketUse()
    /// Requests and commits under way that a lock or a stop waits for.
    var inFlight = 0
    /// Work handed to the store's thread and not finished.
    var storeJobs = 0
    /// Work ever handed to the store's thread; whatever changes a session is among it.
    var storeJobsBegun = 0
    var drainWaiters: [CheckedContinuation<Void, Never>] = []
    private var wakeQueue = WakeQueue()
    private var alarm: (time: Instant, task: Scheduled<Void>)?
    private var nextNumber: UInt64 = 1
    /// How far the boot-time clock is ahead of the loop's own, which stands still while the machine sleeps.
    private var timeAsleep: Duration?
    private var quiet = Quiet()

    package init(
        configuration: AgentConfiguration,
        ports: AgentPorts,
        identity: AgentIdentity,
        eventLoop: any EventLoop,
        pool: NIOThreadPool,
        auditFile: AuditFile? = nil,
        onShutdownRequest: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        rules = RulesInForce(configuration)
        trail = auditFile.map { file in
            AuditTrail(file: file, pool: pool, eventLoop: eventLoop, logger: ports.logger)
        }
        journal = SessionLog(logger: ports.logger)
        self.ports = ports
        self.identity = identity
        self.eventLoop = eventLoop
        executor = eventLoop.executor
        self.pool = pool
        guesses = GuessQueue(eventLoop: eventLoop, timekeeper: ports.timekeeper)
        self.onShutdownRequest = onShutdownRequest
        startedAt = ports.timekeeper.now
    }

    /// Has `action` called on the event loop with the present configuration, and again with every later one.
    func followConfiguration(_ action: @escaping @Sendable (AgentConfiguration) -> [UnopenedSocket]) {
        onConfiguration = action
        _ = action(configuration)
    }

    /// Nothing is served before somebody unlocks the store.
    var isLocked: Bool { !isServing && phase != .opening }

    var isServing: Bool { phase == .working || phase == .stopping && !ports.vault.isLocked }

    /// A number nothing else in this process is known by.
    func freshNumber() -> UInt64 {
        defer { nextNumber += 1 }
        return nextNumber
    }

    func log(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ name: SessionName,
        _ more: Logger.Metadata = [:]
    ) {
        ports.logger.log(
            level: level,
            message,
            metadata: more.merging(["session": "\(name)"]) { first, _ in first }
        )
    }
}

// MARK: Events

extension SessionAgent {
    /// Lets an event change a session, then does what follows from it.
    func apply(_ name: SessionName, _ event: (inout Session, Moment) -> [Effect]) {
        guard let index = sessions.index(forKey: name) else { return }
        let moment = ports.timekeeper.moment
        let effects = event(&sessions.values[index].session, moment)
        perform(effects, for: name, at: moment)
        planWake(name)
    }

    /// Asks the session when it next needs attention, and sets the alarm for it.
    func planWake(_ name: SessionName) {
        wakeQueue.plan(name, at: sessions[name]?.session.wakeTime)
        setAlarm()
    }

    func planNothing() {
        wakeQueue.removeAll()
        setAlarm()
    }

    /// Wakes every session that is due; called by the alarm, and by housekeeping because a suspended machine's
    /// timers come late.
    package func timeReached() {
        guesses.timeReached()
        guard phase == .working || phase == .stopping else { return }
        for name in wakeQueue.takeDue(at: ports.timekeeper.now) {
            let jitter = ports.chance()
            apply(name) { session, moment in session.timeReached(moment, jitter: jitter) }
        }
        for issuer in pacing.keys { admit(at: issuer) }
        endOverdueTurns()
        setAlarm()
    }

    /// Called twice a minute: notices that the machine slept, and wakes what is due.
    package func housekeep() {
        let ahead =
            Duration.nanoseconds(ports.timekeeper.now.nanoseconds)
            - .nanoseconds(Int64(clamping: NIODeadline.now().uptimeNanoseconds))
        if let timeAsleep, ahead - timeAsleep > Self.shortestSleep {
            networkReturned(spread: Self.wakeSpread)
        }
        timeAsleep = ahead
        timeReached()
        if quiet.begins(jobs: storeJobsBegun, underWay: inFlight) { ports.onQuiet() }
    }

    private static let shortestSleep = Duration.seconds(2)
    /// Sessions that could not reach their issuer try again spread over this, as the network needs a moment too.
    private static let wakeSpread = Duration.seconds(5)

    /// The network may be back: what could not be sent is tried again, spread over `spread`.
    ///
    /// A second keeps the promise of a fresh token within two, and still not all sessions ask in one instant.
    package func networkReturned(spread: Duration = .seconds(1)) {
        guard phase == .working else { return }
        ports.logger.debug("the network may be back")
        ports.authorization.networkReturned()
        for issuer in pacing.keys { pacing[issuer]?.networkReturned() }
        for name in sessions.keys.sorted() {
            let delay = spread * ports.chance()
            apply(name) { session, moment in session.networkReturned(delay: delay, at: moment) }
        }
        for issuer in pacing.keys { admit(at: issuer) }
    }

    private func setAlarm() {
        guard let next = wakeQueue.next else {
            alarm?.task.cancel()
            alarm = nil
            return
        }
        if let alarm, alarm.time == next { return }
        alarm?.task.cancel()
        // A session that is due again at once cannot stop the loop; a far plan is looked at again within the hour.
        let delay = min(max(.milliseconds(5), next - ports.timekeeper.now), .seconds(3_600))
        let task = eventLoop.scheduleTask(in: .nanoseconds(delay.saturatedNanoseconds)) { [weak self] in
            guard let self else { return }
            assumeIsolated { agent in
                agent.alarm = nil
                agent.timeReached()
            }
        }
        alarm = (next, task)
    }
}
