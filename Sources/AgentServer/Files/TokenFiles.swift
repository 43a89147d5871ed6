// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import SealedStore
import Text
import TokenCore

/// Keeps the present tokens of sessions in the files that the configuration names (`[[file]]`).
///
/// A file holds what a `get` would answer at once, and is gone while there is nothing to answer: after a logout, while
/// the agent is locked. It goes with its login too, whose last token a `get` may still answer: nobody tells a reader of
/// a file that it is the last.
/// Confined to the agent's event loop.
final class TokenFiles {
    /// A file, and what was last done about it.
    fileprivate final class KeptFile {
        let outlet: TokenFileTarget
        /// What it is to hold; `nil`: it is not to be there.
        var wanted: SecretID?
        /// When that is not served any more; `nil`: never, or there is none.
        var wantedEnd: Instant?
        /// The same of what was last put there, while nothing else can be.
        var heldEnd: Instant?
        /// When what has failed is tried again.
        var retryAt: Instant?
        /// The earliest moment to ask for another token.
        var nextAsk = Instant(nanoseconds: .min)
        /// Changes with each job of the thread.
        var job = 0
        /// Why its place has not taken the last change, as it was logged.
        var fault: TokenFileError?
        /// Why there is nothing to put there, as it was logged; `nil`: there is something, or nobody expects anything.
        var lack: TokenFileError?
        var complaint: TokenFileError? { fault ?? lack }

        init(_ outlet: TokenFileTarget) { self.outlet = outlet }

        var key: ByteText { outlet.path.bytewise }
    }

    /// By this time before its end a token has been replaced, or when a third of its life is left: libraries keep what
    /// they read for as long.
    private static let longestLead = Duration.seconds(600)
    /// How much earlier it is asked for; a tenth of its life if that is less.
    private static let longestMargin = Duration.seconds(60)
    /// How long whoever has logged in or out waits for the disk.
    private static let patience = TimeAmount.seconds(2)
    /// How long to wait after a failure, of the disk or of a request.
    private static let pause = Duration.seconds(30)

    private let writer: TokenFileWriter
    private let thread: TokenFileThread
    /// Rings when a token has to be asked for, or ends, or the disk is to be tried again.
    private let alarm: Alarm<ByteText>
    private let logger: Logger
    private var files: [ByteText: KeptFile] = [:]
    private var bySession: [SessionName: [KeptFile]] = [:]
    /// Names requests that nobody waits for; far from those of programs, which count from 1, and of sources, which count
    /// down.
    private var nextWaiter = UInt64.max / 2

    init(
        _ outlets: [TokenFileTarget],
        writer: TokenFileWriter,
        thread: TokenFileThread,
        alarm: Alarm<ByteText>,
        logger: Logger
    ) {
        self.writer = writer
        self.thread = thread
        self.alarm = alarm
        self.logger = logger
        take(outlets)
    }

    /// Those that are not as they should be, each with the reason.
    var complaints: [(outlet: TokenFileTarget, fault: TokenFileError)] {
        files.values.compactMap { file in file.complaint.map { (outlet: file.outlet, fault: $0) } }
            .sorted { $0.outlet.path < $1.outlet.path }
    }

    /// Begins to look after the files.
    func begin(in agent: isolated SessionAgent) {
        alarm.onFire { [weak agent] in agent?.assumeIsolated { $0.configuration.files.timeReached(in: $0) } }
        for file in files.values {
            let path = file.outlet.path
            thread.run { [writer] in
                writer.probe(path)
            } then: { [self] fault in
                if let fault { complain(of: file, fault) }
            }
        }
    }

    /// Ends for good; what is to be removed has been.
    func end() {
        alarm.planNothing()
        thread.end()
    }

    // MARK: What happens to sessions

    /// Has the files of a session hold what it has now; called with each change of it, before anybody is told.
    func follow(_ name: SessionName, in agent: isolated SessionAgent) {
        guard let files = bySession[name] else { return }
        for file in files { settle(file, in: agent) }
    }

    /// As ``follow(_:in:)`` does, for all sessions: the agent begins or ends to serve.
    func followAll(in agent: isolated SessionAgent) {
        for file in files.values { settle(file, in: agent) }
    }

    /// Does what has become due.
    func timeReached(in agent: isolated SessionAgent) {
        for key in alarm.takeDue() {
            if let file = files[key] { settle(file, in: agent) }
        }
        alarm.set()
    }

    /// Calls `action` once the files are as they were to be when it was called; a disk that does not answer is not
    /// waited for.
    func whenWritten(_ action: @escaping () -> Void) {
        thread.drain(within: Self.patience, then: action)
    }

    /// Waits as ``whenWritten(_:)`` does.
    func untilWritten(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in whenWritten { continuation.resume() } }
    }

    /// Takes over the files of another configuration.
    ///
    /// - Parameters:
    ///   - outlets: all there are now.
    ///   - agent: has the configuration in force.
    /// - Returns: those that cannot be written before the agent is started again.
    func adopt(
        _ outlets: [TokenFileTarget],
        in agent: isolated SessionAgent
    ) async -> [ConfigurationChanges.Restart] {
        let old = files
        take(outlets)
        for (key, file) in old where files[key] !== file {
            alarm.plan(key, at: nil)
            put(nil, in: nil, into: file, in: agent)
        }
        // Also those that were there: a directory outside the sandbox stays there until a restart.
        let all = files.map(\.value.outlet).sorted { $0.path < $1.path }
        guard !all.isEmpty else { return [] }
        let faults = await thread.result { [writer] in all.map { writer.probe($0.path) } }
        return zip(all, faults).compactMap { outlet, fault in
            guard let fault, fault.needsRestart else { return nil }
            return ConfigurationChanges.Restart(
                "file \(outlet.path)",
                session: outlet.session,
                reason: fault.reason
            )
        }
    }

    private func take(_ outlets: [TokenFileTarget]) {
        let old = files
        files = [:]
        bySession = [:]
        for outlet in outlets {
            let former = old[outlet.path.bytewise]
            let file = former?.outlet == outlet ? former ?? KeptFile(outlet) : KeptFile(outlet)
            files[file.key] = file
            bySession[outlet.session, default: []].append(file)
        }
    }

    // MARK: One file

    /// Has `file` hold what its session has now, asks for what it will need, and plans the next look.
    private func settle(_ file: KeptFile, in agent: isolated SessionAgent) {
        let moment = agent.moment
        let token = token(for: file.outlet, at: moment.now, in: agent)
        let secret = token.flatMap { file.outlet.wantsIDToken ? $0.idToken?.secret : $0.secret }
        if secret != file.wanted || file.retryAt.map({ $0 <= moment.now }) ?? false {
            if secret != file.wanted { file.nextAsk = moment.now }
            let content = token.map { TokenFileContent($0, for: file.outlet, at: moment) }
            // It is not served in its last second.
            let end = token?.life(isID: file.outlet.wantsIDToken).expiresAt
            file.wantedEnd = end.map { $0 - Duration.milliseconds(999) }
            put(secret, in: content, into: file, in: agent)
        }
        if file.retryAt != nil, let end = file.heldEnd, end <= moment.now { removeEnded(file) }
        let lack = token == nil ? lackOfIDToken(file.outlet, at: moment.now, in: agent) : nil
        let refusal = token == nil ? refusal(of: file.outlet, at: moment.now, in: agent) : nil
        recordMissingToken(of: file, (lack ?? refusal).map { .failed($0) })
        if lack != nil { return alarm.plan(file.key, at: file.retryAt) }
        let due = dueTime(of: token, for: file.outlet, at: moment.now, in: agent)
        if let due, due.at <= moment.now, file.nextAsk <= moment.now {
            file.nextAsk = moment.now + Self.pause
            // Not before what is to be done about the present change has been done.
            agent.work.later { [self] in ask(for: file.outlet, lasting: due.life, in: agent) }
        }
        let next = due.map { max($0.at, file.nextAsk) }
        let held = file.retryAt == nil ? nil : file.heldEnd
        alarm.plan(file.key, at: [file.wantedEnd, held, next, file.retryAt].compactMap(\.self).min())
    }

    /// A token that could not be replaced has ended: without room for another one it can still be removed.
    private func removeEnded(_ file: KeptFile) {
        file.heldEnd = nil
        let path = file.outlet.path
        thread.run { [writer] in
            writer.remove(path)
        } then: { [self] fault in
            if let fault { complain(of: file, fault) }
        }
    }

    /// What a `get` would be answered with at once, as long as the login lives; `nil`: nothing.
    private func token(
        for outlet: TokenFileTarget,
        at now: Instant,
        in agent: isolated SessionAgent
    ) -> AccessToken? {
        let need = TokenRequirements(
            variant: outlet.variant,
            wantsIDToken: outlet.wantsIDToken,
            deadline: now,
            wantsLiveLogin: true
        )
        return token(for: need, of: outlet.session, at: now, in: agent)
    }

    /// Why there is no ID token, where asking again would not bring one.
    private func lackOfIDToken(
        _ outlet: TokenFileTarget,
        at now: Instant,
        in agent: isolated SessionAgent
    ) -> String? {
        guard outlet.wantsIDToken else { return nil }
        let need = TokenRequirements(variant: outlet.variant, deadline: now, wantsLiveLogin: true)
        guard let token = token(for: need, of: outlet.session, at: now, in: agent) else { return nil }
        guard token.idToken != nil else { return "the authorization server gave no ID token" }
        let session = agent.sessions[outlet.session]?.session
        guard session?.isIDTokenExpired(of: outlet.variant, at: now) == true else { return nil }
        return "the ID token has ended, and a refresh brought no other one: tokenctl login \(outlet.session)"
    }

    /// Why the server gives no such token, which is asked for again all the same.
    private func refusal(
        of outlet: TokenFileTarget,
        at now: Instant,
        in agent: isolated SessionAgent
    ) -> String? {
        agent.sessions[outlet.session]?.session.refusal(of: outlet.variant, at: now)
    }

    private func token(
        for need: TokenRequirements,
        of name: SessionName,
        at now: Instant,
        in agent: isolated SessionAgent
    ) -> AccessToken? {
        guard agent.phase == .working, let session = agent.sessions[name]?.session else { return nil }
        guard let token = session.token(for: need, at: now), token.tokenType != RoleTokens.tokenType else {
            return nil
        }
        return token
    }

    /// When another token is asked for, and how long the present one must last then; `nil`: nobody needs to ask.
    private func dueTime(
        of token: AccessToken?,
        for outlet: TokenFileTarget,
        at now: Instant,
        in agent: isolated SessionAgent
    ) -> (at: Instant, life: Duration?)? {
        guard agent.phase == .working, let session = agent.sessions[outlet.session]?.session,
            session.isReady, session.canRefresh
        else { return nil }
        guard let token else { return (now, nil) }
        let tokenValidity = token.life(isID: outlet.wantsIDToken)
        guard let end = tokenValidity.expiresAt, let lifetime = tokenValidity.lifetime,
            lifetime >= RefreshSchedule.shortestAutomaticLifetime
        else { return nil }
        let lead = min(Self.longestLead, lifetime / 3) + min(Self.longestMargin, lifetime / 10)
        return (end - lead, lead)
    }

    /// Asks the session for a token; what it brings is seen when the session changes.
    private func ask(for outlet: TokenFileTarget, lasting life: Duration?, in agent: isolated SessionAgent) {
        guard agent.phase == .working else { return }
        let waiter = WaiterID(rawValue: nextWaiter)
        nextWaiter += 1
        agent.apply(outlet.session) { session, moment in
            let need = TokenRequirements(
                variant: outlet.variant,
                // One more nanosecond than is left at the moment at which it is due.
                minimumValidity: life.map { $0 + .nanoseconds(1) },
                wantsIDToken: outlet.wantsIDToken,
                deadline: moment.now + session.policy.getTimeout
            )
            return session.tokenRequested(by: waiter, need, at: moment)
        }
        agent.refreshes.demand(outlet.session, in: agent)
    }

    /// Has `secret` put into the file, or the file removed.
    private func put(
        _ secret: SecretID?,
        in content: TokenFileContent?,
        into file: KeptFile,
        in agent: isolated SessionAgent
    ) {
        file.wanted = secret
        file.retryAt = nil
        file.job += 1
        let job = file.job
        let path = file.outlet.path
        let wasFaulty = file.fault != nil
        thread.run { [writer] () -> TokenFileError? in
            guard let secret, let content else {
                // What kept a file from being written is over only once another one could be made.
                return writer.remove(path) ?? (wasFaulty ? writer.probe(path) : nil)
            }
            return writer.write(secret, in: content, to: path)
        } then: { [self] fault in
            guard file.job == job else { return }
            // One that an earlier job has told of since then.
            if fault == nil, secret == nil, file.fault != nil, !wasFaulty {
                put(nil, in: nil, into: file, in: agent)
            } else {
                finish(file, fault, in: agent)
            }
        }
    }

    private func finish(_ file: KeptFile, _ fault: TokenFileError?, in agent: isolated SessionAgent) {
        guard let fault else {
            file.heldEnd = file.wantedEnd
            file.fault = nil
            guard file.wanted != nil else { return }
            return agent.audit.add(file.outlet)
        }
        complain(of: file, fault)
        guard files[file.key] === file else { return }
        file.retryAt = agent.now + Self.pause
        settle(file, in: agent)
    }

    private func complain(of file: KeptFile, _ fault: TokenFileError) {
        guard file.fault != fault else { return }
        file.fault = fault
        log(fault, of: file)
    }

    private func recordMissingToken(of file: KeptFile, _ lack: TokenFileError?) {
        guard file.lack != lack else { return }
        file.lack = lack
        if let lack { log(lack, of: file) }
    }

    private func log(_ fault: TokenFileError, of file: KeptFile) {
        let values: Logger.Metadata = ["path": "\(file.outlet.path)", "reason": "\(fault.reason)"]
        logger.warning("a token file is not as it should be", metadata: values)
    }
}
