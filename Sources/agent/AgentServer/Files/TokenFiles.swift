// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import Text
import TokenCore

/// The files of the configuration (`[[file]]`) that contain the sessions' current tokens.
///
/// A file contains the token that a `get` would return at once, and does not exist while there is none, such
/// as after a logout or while the agent is locked. It is also removed when its login ends, although a `get`
/// may still return the last token, because a reader of a file cannot be told that it is the last.
///
/// - Entry points: ``follow(_:)`` for each change of a session, ``adopt(_:)`` for a new configuration.
/// - May not: block the event loop; ``TokenFileThread`` writes.
///
/// Confined to the agent's event loop.
final class TokenFiles {
    /// The state of one file.
    fileprivate final class FileEntry {
        let outlet: TokenFileTarget
        /// The token that the file should contain, or `nil` if the file should not exist.
        var wanted: SecretID?
        /// The time at which `wanted` is no longer served, or `nil` if it does not expire or there is none.
        var wantedEnd: Instant?
        /// The time at which the last written token is no longer served; used while it cannot be replaced.
        var heldEnd: Instant?
        /// The time of the next attempt after an error.
        var retryAt: Instant?
        /// The earliest time of the next token request.
        var nextAsk = Instant(nanoseconds: .min)
        /// The number of the file's last job on the thread.
        var job = 0
        /// The logged error that kept the last change from being written.
        var fault: TokenFileError?
        /// The logged reason for a missing token, or `nil` if there is a token or none is expected.
        var lack: TokenFileError?
        var complaint: TokenFileError? { fault ?? lack }

        init(_ outlet: TokenFileTarget) { self.outlet = outlet }

        var key: ByteText { outlet.path.bytewise }
    }

    /// The maximum remaining validity at which a token must have been replaced; it is a third of a shorter
    /// lifetime.
    ///
    /// Libraries cache for about this long what they read from a file.
    private static let maximumLead = Duration.seconds(600)
    /// The maximum time by which a new token is requested earlier than that; it is a tenth of a shorter
    /// lifetime.
    private static let maximumMargin = Duration.seconds(60)
    /// The maximum wait of a login or logout for the disk.
    private static let timeout = TimeAmount.seconds(2)
    /// The delay after an error of the disk or of a request.
    private static let delay = Duration.seconds(30)

    private let writer: TokenFileWriter
    private let thread: TokenFileThread
    /// Fires when a token must be requested, a token expires, or a write must be retried.
    private let alarm: Alarm<ByteText>
    private let logger: Logger
    private let registry: SessionRegistry
    private let refreshes: RefreshCoordinator
    private let phase: AgentPhase
    private let audit: AuditLog
    private let work: PendingWork
    private let timekeeper: any Timekeeper
    private var files: [ByteText: FileEntry] = [:]
    private var bySession: [SessionName: [FileEntry]] = [:]
    /// The identifier of the next request.
    ///
    /// It is far from those of programs, which count up from 1, and of source tokens, which count down.
    private var nextWaiter = UInt64.max / 2

    init(
        _ outlets: [TokenFileTarget],
        writer: TokenFileWriter,
        thread: TokenFileThread,
        alarm: Alarm<ByteText>,
        registry: SessionRegistry,
        refreshes: RefreshCoordinator,
        phase: AgentPhase,
        audit: AuditLog,
        work: PendingWork,
        ports: AgentPorts
    ) {
        self.writer = writer
        self.thread = thread
        self.alarm = alarm
        logger = ports.logger
        self.registry = registry
        self.refreshes = refreshes
        self.phase = phase
        self.audit = audit
        self.work = work
        timekeeper = ports.timekeeper
        take(outlets)
    }

    /// The files that are missing or outdated, each with the reason.
    var complaints: [(outlet: TokenFileTarget, fault: TokenFileError)] {
        files.values.compactMap { file in file.complaint.map { (outlet: file.outlet, fault: $0) } }
            .sorted { $0.outlet.path < $1.outlet.path }
    }

    /// Starts the alarm and checks that all files can be written.
    func begin() {
        alarm.onFire { [weak self] in self?.timeReached() }
        for file in files.values {
            let path = file.outlet.path
            thread.run { [writer] in
                writer.probe(path)
            } then: { [self] fault in
                if let fault { complain(of: file, fault) }
            }
        }
    }

    /// Stops for good; all removals have been done before.
    func end() {
        alarm.cancel()
        thread.end()
    }

    // MARK: Session events

    /// Updates the files of a session; called for each change of the session, before any other effect of it.
    func follow(_ name: SessionName) {
        guard let files = bySession[name] else { return }
        for file in files { settle(file) }
    }

    /// Updates the files of all sessions, when the agent begins or stops serving.
    func followAll() {
        for file in files.values { settle(file) }
    }

    /// Updates the files that are due.
    func timeReached() {
        for key in alarm.takeDue() {
            if let file = files[key] { settle(file) }
        }
        alarm.set()
    }

    /// Calls `action` after all current changes have been written, or after a timeout if the disk does not
    /// respond.
    func whenWritten(_ action: @escaping () -> Void) {
        thread.drain(within: Self.timeout, then: action)
    }

    /// Waits until all current changes have been written, with the timeout of ``whenWritten(_:)``.
    func waitUntilWritten() async {
        await withCheckedContinuation { continuation in whenWritten { continuation.resume() } }
    }

    /// Applies the files of a new configuration.
    ///
    /// - Parameter outlets: All files of the new configuration.
    /// - Returns: The files that cannot be written until the agent is restarted.
    func adopt(_ outlets: [TokenFileTarget]) async -> [ConfigurationChanges.Restart] {
        let old = files
        take(outlets)
        for (key, file) in old where files[key] !== file {
            alarm.plan(key, at: nil)
            put(nil, in: nil, into: file)
        }
        // Existing files are checked too: a directory outside the sandbox stays outside until a restart.
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
            let file = former?.outlet == outlet ? former ?? FileEntry(outlet) : FileEntry(outlet)
            files[file.key] = file
            bySession[outlet.session, default: []].append(file)
        }
    }

    // MARK: Updating a file

    /// Updates `file` to its session's current token, requests the next token if due, and plans the next
    /// check.
    private func settle(_ file: FileEntry) {
        let moment = timekeeper.moment
        let token = token(for: file.outlet, at: moment.now)
        let secret = token.flatMap { file.outlet.wantsIDToken ? $0.idToken?.secret : $0.secret }
        if secret != file.wanted || file.retryAt.map({ $0 <= moment.now }) ?? false {
            if secret != file.wanted { file.nextAsk = moment.now }
            let content = token.map { TokenFileTemplate($0, for: file.outlet, at: moment) }
            // A token is not served in the last second of its validity.
            let end = token?.life(isID: file.outlet.wantsIDToken).expiresAt
            file.wantedEnd = end.map { $0 - Duration.milliseconds(999) }
            put(secret, in: content, into: file)
        }
        if file.retryAt != nil, let end = file.heldEnd, end <= moment.now { removeEnded(file) }
        let lack = token == nil ? lackOfIDToken(file.outlet, at: moment.now) : nil
        let refusal = token == nil ? refusal(of: file.outlet, at: moment.now) : nil
        recordMissingToken(of: file, lack ?? refusal.map { TokenFileError.failed($0) })
        if lack != nil { return alarm.plan(file.key, at: file.retryAt) }
        let due = dueTime(of: token, for: file.outlet, at: moment.now)
        if let due, due.at <= moment.now, file.nextAsk <= moment.now {
            file.nextAsk = moment.now + Self.delay
            // Deferred, so that the other effects of the current change come first.
            work.later { [self] in ask(for: file.outlet, lasting: due.life) }
        }
        let next = due.map { max($0.at, file.nextAsk) }
        let held = file.retryAt == nil ? nil : file.heldEnd
        alarm.plan(file.key, at: [file.wantedEnd, held, next, file.retryAt].compactMap(\.self).min())
    }

    /// Removes a file whose token has expired and could not be replaced; a full disk still allows that.
    private func removeEnded(_ file: FileEntry) {
        file.heldEnd = nil
        let path = file.outlet.path
        thread.run { [writer] in
            writer.remove(path)
        } then: { [self] fault in
            if let fault { complain(of: file, fault) }
        }
    }

    /// Returns the token that a `get` would return at once, or `nil` if there is none or the login has ended.
    private func token(for outlet: TokenFileTarget, at now: Instant) -> AccessToken? {
        let need = TokenRequirements(
            variant: outlet.variant,
            wantsIDToken: outlet.wantsIDToken,
            deadline: now,
            wantsLiveLogin: true
        )
        return token(for: need, of: outlet.session, at: now)
    }

    /// Returns the reason for a missing ID token if another request would not provide one, otherwise `nil`.
    private func lackOfIDToken(_ outlet: TokenFileTarget, at now: Instant) -> TokenFileError? {
        guard outlet.wantsIDToken else { return nil }
        let need = TokenRequirements(variant: outlet.variant, deadline: now, wantsLiveLogin: true)
        guard let token = token(for: need, of: outlet.session, at: now) else { return nil }
        guard token.idToken != nil else { return .failed("the authorization server returned no ID token") }
        let session = registry[outlet.session]?.session
        guard session?.isIDTokenExpired(of: outlet.variant, at: now) == true else { return nil }
        return .failed(
            "ID token expired and the last refresh returned no new one",
            remedy: .run("tokenctl login \(outlet.session)")
        )
    }

    /// Returns the reason the server rejects such tokens, or `nil`; the token is still requested again.
    private func refusal(of outlet: TokenFileTarget, at now: Instant) -> String? {
        registry[outlet.session]?.session.refusal(of: outlet.variant, at: now)
    }

    private func token(for need: TokenRequirements, of name: SessionName, at now: Instant) -> AccessToken? {
        guard phase.current == .working, let session = registry[name]?.session else { return nil }
        guard let token = session.token(for: need, at: now), token.tokenType != AWSRoleTokens.tokenType else {
            return nil
        }
        return token
    }

    /// Returns the time of the next token request, and the remaining validity that the current token then
    /// lacks.
    ///
    /// - Returns: `nil` if no request is needed.
    private func dueTime(
        of token: AccessToken?,
        for outlet: TokenFileTarget,
        at now: Instant
    ) -> (at: Instant, life: Duration?)? {
        guard phase.current == .working, let session = registry[outlet.session]?.session,
            session.isReady, session.canRefresh
        else { return nil }
        guard let token else { return (now, nil) }
        let tokenValidity = token.life(isID: outlet.wantsIDToken)
        guard let end = tokenValidity.expiresAt, let lifetime = tokenValidity.lifetime,
            lifetime >= RefreshSchedule.minimumAutomaticLifetime
        else { return nil }
        let lead = min(Self.maximumLead, lifetime / 3) + min(Self.maximumMargin, lifetime / 10)
        return (end - lead, lead)
    }

    /// Requests a token from the session; the result arrives as a change of the session.
    private func ask(for outlet: TokenFileTarget, lasting life: Duration?) {
        guard phase.current == .working else { return }
        let waiter = WaiterID(rawValue: nextWaiter)
        nextWaiter += 1
        registry.apply(outlet.session) { session, moment in
            let need = TokenRequirements(
                variant: outlet.variant,
                // One nanosecond more than remains at the due time, so that the current token does not
                // satisfy the request.
                minimumValidity: life.map { $0 + .nanoseconds(1) },
                wantsIDToken: outlet.wantsIDToken,
                deadline: moment.now + session.policy.getTimeout
            )
            return session.tokenRequested(by: waiter, need, at: moment)
        }
        refreshes.tokenRequest(outlet.session)
    }

    /// Writes `secret` to the file, or removes the file if it is `nil`.
    private func put(_ secret: SecretID?, in content: TokenFileTemplate?, into file: FileEntry) {
        file.wanted = secret
        file.retryAt = nil
        file.job += 1
        let job = file.job
        let path = file.outlet.path
        let wasFaulty = file.fault != nil
        thread.run { [writer] () -> TokenFileError? in
            guard let secret, let content else {
                // An earlier write error is resolved only if a file can be created again.
                return writer.remove(path) ?? (wasFaulty ? writer.probe(path) : nil)
            }
            return writer.write(secret, in: content, to: path)
        } then: { [self] fault in
            guard file.job == job else { return }
            // The error was reported by an earlier job after this one was added, so this job did not check
            // that it is resolved.
            if fault == nil, secret == nil, file.fault != nil, !wasFaulty {
                put(nil, in: nil, into: file)
            } else {
                finish(file, fault)
            }
        }
    }

    private func finish(_ file: FileEntry, _ fault: TokenFileError?) {
        guard let fault else {
            file.heldEnd = file.wantedEnd
            file.fault = nil
            guard file.wanted != nil else { return }
            return audit.add(file.outlet)
        }
        complain(of: file, fault)
        guard files[file.key] === file else { return }
        file.retryAt = timekeeper.now + Self.delay
        settle(file)
    }

    private func complain(of file: FileEntry, _ fault: TokenFileError) {
        guard file.fault != fault else { return }
        file.fault = fault
        log(fault, of: file)
    }

    private func recordMissingToken(of file: FileEntry, _ lack: TokenFileError?) {
        guard file.lack != lack else { return }
        file.lack = lack
        if let lack { log(lack, of: file) }
    }

    private func log(_ fault: TokenFileError, of file: FileEntry) {
        let values: Logger.Metadata = ["path": "\(file.outlet.path)", "reason": "\(fault.reason)"]
        logger.warning("token file missing or outdated", metadata: values)
    }
}
