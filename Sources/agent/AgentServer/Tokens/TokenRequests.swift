// SPDX-License-Identifier: MIT

import AgentProtocol
import SecretMemory
import Text
import TokenCore

/// The token requests: which of them wait, and how each is answered.
///
/// - Entry points: ``serveStanding(_:as:on:)`` for cached tokens, ``serve(_:_:)``,
///   ``forceRefresh(_:rejecting:_:)``.
/// - May not: send requests to authorization servers. `Session` (TokenCore) decides on refreshes.
/// - Runs on: the agent's event loop, to which it is confined.
final class TokenRequests {
    private let memory: SealedMemory
    private let authorization: any AuthorizationServing
    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let phase: AgentPhase
    private let refreshes: RefreshCoordinator
    private let sources: SourceSessionTokenRequests
    private let erasure: DeferredSecretErasure
    private let audit: AuditLog
    private let log: SessionLog
    private let work: PendingWork
    private let timekeeper: any Timekeeper
    private let tasks: LoopTasks
    private let examiner: PeerInspector
    private let turns: RequesterLimiter
    let preparations: TokenReadinessWaiters
    let fleetReadQueue: FleetReadWaiters
    /// The requests that wait, by their waiter ID in the session.
    private var calls: [WaiterID: PendingTokenRequest] = [:]
    private var nextNumber: UInt64 = 1

    init(
        ports: AgentPorts,
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        phase: AgentPhase,
        refreshes: RefreshCoordinator,
        sources: SourceSessionTokenRequests,
        erasure: DeferredSecretErasure,
        audit: AuditLog,
        log: SessionLog,
        work: PendingWork,
        tasks: LoopTasks,
        examiner: PeerInspector,
        turns: RequesterLimiter,
        preparations: TokenReadinessWaiters,
        fleetReadQueue: FleetReadWaiters
    ) {
        memory = ports.memory
        authorization = ports.authorization
        timekeeper = ports.timekeeper
        self.registry = registry
        self.configuration = configuration
        self.phase = phase
        self.refreshes = refreshes
        self.sources = sources
        self.erasure = erasure
        self.audit = audit
        self.log = log
        self.work = work
        self.tasks = tasks
        self.examiner = examiner
        self.turns = turns
        self.preparations = preparations
        self.fleetReadQueue = fleetReadQueue
        turns.onOverdue = { [weak self] in self?.endOverdueTurns() }
        fleetReadQueue.tokens = self
    }

    /// The number of requests that wait for their session.
    var waitingCount: Int { calls.count }

    // MARK: Serving

    /// Serves the session's cached token if that does not change the session's state.
    ///
    /// - Returns: `true` if the request is answered. Otherwise call ``serve(_:_:)``.
    func serveStanding(
        _ kept: SessionEntry,
        as format: PendingTokenRequest.Format,
        on connection: Connection
    ) -> Bool {
        let moment = timekeeper.moment
        guard let standing = kept.standing(at: moment.now) else { return false }
        do {
            let layout = format == .text ? .text : standing.layout
            try write(layout, standing.token, on: connection, at: moment)
        } catch {
            return false
        }
        kept.counts.served += 1
        recordServed(kept.session.name, on: connection, at: moment)
        return true
    }

    /// Serves `GET …/token`, within this turn of the event loop if the session's token is valid.
    func serve(_ query: TokenQuery, _ call: PendingTokenRequest) {
        let name = call.session
        guard !fleetReadQueue.take(query, call),
            query.variant == .primary || mayBegin(query, call)
        else { return }
        if let failure = earlyRefreshFailure(query, call) {
            return answer(failure, to: call)
        }
        let waiter = freshWaiter()
        let asked = registry.ask(name) { session, moment in
            let need = TokenRequirements(query, call, policy: session.policy, at: moment)
            return (effects: session.tokenRequested(by: waiter, need, at: moment), moment: moment)
        }
        guard let (effects, moment) = asked else { return answer(.unknown(name), to: call) }
        if effects.count == 1, case .reply(waiter, let reply) = effects[0] {
            // Nothing except this request has changed.
            return answer(reply, to: call, at: moment)
        }
        wait(waiter, call)
        if !effects.contains(where: \.startsSomething) {
            registry.count(of: name) { $0.coalesced += 1 }
            refreshes.tokenRequest(name)
        }
        registry.follow(effects, of: name, at: moment)
    }

    /// Returns whether a token of other scopes or another audience may be obtained now.
    ///
    /// If not, the request waits or has failed.
    private func mayBegin(_ query: TokenQuery, _ call: PendingTokenRequest) -> Bool {
        let asked = registry.ask(call.session) { session, moment in
            let need = TokenRequirements(query, call, policy: session.policy, at: moment)
            return (isMet: session.meets(need, at: moment.now), deadline: need.deadline)
        }
        guard let asked, !asked.isMet else { return true }
        let waiting = DeferredTokenRequest(query: query, call: call, deadline: asked.deadline)
        switch turns.admit(waiting) {
        case .begins: return true
        case .waits: return false
        case .isTooLate:
            refuseOverdue(waiting)
            return false
        }
    }

    /// Returns the failure of a socket's peer that requires more validity than a valid token has left, or
    /// `nil` if it may have a new token.
    ///
    /// Each early refresh costs the owner a rotation of the refresh token, even if another peer requested it.
    private func earlyRefreshFailure(_ query: TokenQuery, _ call: PendingTokenRequest) -> RequestFailure? {
        guard call.connection.caller.isRestricted, let minimum = query.minimumValidity else { return nil }
        let good = registry.ask(call.session) { session, moment -> AccessToken? in
            var need = TokenRequirements(query, call, policy: session.policy, at: moment)
            guard session.attemptInFlight == nil, !session.meets(need, at: moment.now) else { return nil }
            need.minimumValidity = nil
            return session.token(for: need, at: moment.now)
        }
        guard let good = good.flatMap(\.self) else { return nil }
        if let lifetime = good.life(isID: query.wantsIDToken).lifetime, lifetime <= minimum {
            return RequestFailure(.validityUnattainable(lifetime: lifetime), of: call.session)
        }
        guard !turns.mayRefresh(call.session, at: timekeeper.now) else { return nil }
        return RequestFailure(
            code: .temporarilyUnavailable,
            message:
                "remaining validity too short: for sockets like this one, "
                + "the token is refreshed early at most once a minute",
            session: call.session,
            retryAfter: turns.delay(before: call.session, at: timekeeper.now)
        )
    }

    /// Refreshes even though the token may be valid.
    func forceRefresh(_ variant: TokenVariant, rejecting rejected: SecretID?, _ call: PendingTokenRequest) {
        wait(for: call) { session, waiter, moment in
            session.refreshRequested(
                by: waiter,
                variant,
                rejecting: rejected,
                deadline: moment.now + session.policy.getTimeout,
                at: moment
            )
        }
    }

    /// Marks `token` as rejected, so that it is never served again, and obtains another one.
    func refuse(_ token: RejectedToken, _ call: PendingTokenRequest) {
        let fingerprint = memory.fingerprint(of: token.secret)
        wait(for: call) { session, waiter, moment in
            session.tokenRefused(
                by: waiter,
                token.secret,
                fingerprint,
                deadline: moment.now + session.policy.getTimeout,
                at: moment
            )
        }
    }

    /// Applies an event to the session, and makes `call` wait for its result.
    private func wait(for call: PendingTokenRequest, _ event: (inout Session, WaiterID, Moment) -> [Effect]) {
        guard registry[call.session] != nil else {
            return answer(.unknown(call.session), to: call)
        }
        guard !fleetReadQueue.refuse(call) else { return }
        let waiter = freshWaiter()
        wait(waiter, call)
        registry.apply(call.session) { session, moment in event(&session, waiter, moment) }
    }

    private func wait(_ waiter: WaiterID, _ call: PendingTokenRequest) {
        calls[waiter] = call
        calls[waiter]?.hasWaited = true
        call.connection.awaited = .token(call.session, waiter)
    }

    private func freshWaiter() -> WaiterID {
        defer { nextNumber += 1 }
        return WaiterID(rawValue: nextNumber)
    }

    // MARK: Withdrawn and overdue requests

    /// Removes a request whose peer left.
    ///
    /// Work that it started continues for others.
    func withdraw(_ waiter: WaiterID, of name: SessionName) {
        calls[waiter] = nil
        registry.apply(name) { session, _ in session.requestWithdrawn(by: waiter) }
    }

    /// Fails all waiting requests, or only those for one session.
    func refuseWaiting(_ failure: RequestFailure, for session: SessionName? = nil) {
        fleetReadQueue.refuse(failure, for: session)
        for (waiter, call) in calls where session == nil || call.session == session {
            withdraw(waiter, of: call.session)
            answer(failure, to: call)
        }
    }

    /// Fails the requests whose turn at their socket has not come in time.
    func endOverdueTurns() {
        for waiting in turns.takeOverdue(at: timekeeper.now) { refuseOverdue(waiting) }
    }

    private func refuseOverdue(_ waiting: DeferredTokenRequest) {
        let failure = RequestFailure(
            code: .temporarilyUnavailable,
            message: waiting.call.connection.caller.isRestricted
                ? "another token is being obtained for this socket"
                : "another token is being obtained for this program",
            session: waiting.call.session,
            retryAfter: .seconds(1)
        )
        answer(failure, to: waiting.call)
    }

    /// Ends the turn of a connection that was answered or closed, so that the next request at its socket
    /// begins.
    func endTurn(of connection: Connection) {
        for next in turns.end(for: connection) { resume(next) }
    }

    /// Serves a request that had to wait, in a later turn of the event loop.
    func resume(_ postponed: DeferredTokenRequest) {
        let call = postponed.call
        work.later { [self] in
            call.connection.awaited = nil
            guard call.connection.state == .answering else { return endTurn(of: call.connection) }
            guard phase.isServing else { return answer(phase.refusal, to: call) }
            var query = postponed.query
            query.timeout = max(.zero, postponed.deadline - timekeeper.now)
            serve(query, call)
        }
    }
}

// MARK: Responses

extension TokenRequests {
    func answer(_ waiter: WaiterID, _ reply: Reply, at moment: Moment) {
        guard let call = calls.removeValue(forKey: waiter) else {
            if preparations.answer(waiter, reply) { return }
            return sources.answer(waiter, reply)
        }
        answer(reply, to: call, at: moment)
    }

    private func answer(_ reply: Reply, to call: PendingTokenRequest, at moment: Moment) {
        switch reply {
        case .token(let token): answer(token, to: call, at: moment)
        case .failure(.tokenRefused(let message, let retryAfter)) where call.format == .retry:
            let hidden = configuration.hiddenSources(of: call.session, from: call.connection)
            answerNone(hidden.message(message), retryAfter: retryAfter, to: call)
        case .failure(let failure): answer(failure, to: call)
        }
    }

    private func answer(_ failure: ServingFailure, to call: PendingTokenRequest) {
        let settings = registry[call.session]?.settings
        answer(RequestFailure(failure, of: call.session, settings), to: call)
    }

    /// Answers a reported rejection with the action `none`: nothing helps now.
    func answerNone(_ message: String? = nil, retryAfter: Duration? = nil, to call: PendingTokenRequest) {
        let answer = RejectionReportMessage {
            $0.action = NextClientAction.none
            $0.message = message.map { RequestFailure.clause($0) }
            $0.retryAfter = retryAfter.map { max(1, $0.wholeSeconds) }
        }
        call.connection.awaited = nil
        call.connection.answer(.message(answer))
    }

    /// Answers a reported rejection with what a login must request.
    ///
    /// The token stays in use.
    func answerStepUp(_ challenge: StepUpChallenge, by login: SessionName, to call: PendingTokenRequest) {
        let answer = RejectionReportMessage {
            $0.action = .stepUp
            $0.scope = challenge.scope
            $0.contextClasses = challenge.contextClasses
            $0.maximumAge = challenge.maximumAge
            if login != call.session { $0.source = login.description }
        }
        call.connection.awaited = nil
        call.connection.answer(.message(answer))
    }

    private func answer(_ token: AccessToken, to call: PendingTokenRequest, at moment: Moment) {
        guard !call.hasWaited || configuration[call.session]?.isOpen != false else {
            return answerKnownPeer(token, to: call)
        }
        guard call.format != .renewal else { return answerRenewal(token, to: call, at: moment) }
        // Only one endpoint serves the credentials of a role.
        if call.format != .role, token.tokenType == AWSRoleTokens.tokenType,
            registry[call.session]?.settings.policy.roles != AWSRoleTokens.none
        {
            return answer(.unnamedRole(of: call.session), to: call)
        }
        guard let secret = call.wantsIDToken ? token.idToken?.secret : token.secret else {
            return answer(.noIDToken, to: call)
        }
        let proof: String?
        do throws(RequestFailure) {
            proof = try call.proof.map { tokenRequest throws(RequestFailure) in
                try self.proof(for: tokenRequest, showing: secret, of: call.session)
            }
        } catch {
            return answer(error, to: call)
        }
        let layout: TokenResponseTemplate =
            switch call.format {
            case .text: .text
            case .role: .role
            case .json, .retry, .renewal:
                TokenResponseTemplate(
                    token,
                    of: call.session,
                    isID: call.wantsIDToken,
                    isRetry: call.format == .retry,
                    proof: proof
                )
            }
        call.connection.awaited = nil
        defer { endTurn(of: call.connection) }
        do {
            try write(layout, secret, on: call.connection, at: moment)
            registry.count(of: call.session) { $0.served += 1 }
            recordServed(
                call.session,
                isIDToken: call.wantsIDToken,
                on: call.connection,
                at: moment
            )
        } catch {
            log.write(.error, "cannot open a token", call.session)
            let message = "cannot open the token"
            let failure = RequestFailure(code: .internal, message: message, session: call.session)
            self.answer(failure, to: call)
        }
    }

    /// Responds that `token` is new, without the token itself.
    private func answerRenewal(_ token: AccessToken, to call: PendingTokenRequest, at moment: Moment) {
        let answer = TokenMessage {
            $0.session = call.session.description
            $0.tokenType = token.tokenType
            $0.expiresAt = token.expiresAt.map { moment.wallTime(at: $0).secondsSince1970 }
            $0.expiresIn = token.expiresAt.map { max(0, ($0 - moment.now).wholeSeconds) }
            $0.scope = ""
        }
        call.connection.awaited = nil
        call.connection.answer(.message(answer))
        endTurn(of: call.connection)
    }

    private func write(
        _ layout: TokenResponseTemplate,
        _ secret: SecretID,
        on connection: Connection,
        at moment: Moment
    ) throws {
        let sealed = try memory.find(secret)
        try connection.respond { writer, output in
            let layout = writer.isBare ? TokenResponseTemplate.bare : layout
            try layout.write(sealed, as: writer, at: moment, to: &output)
        }
    }

    private func recordServed(
        _ name: SessionName,
        isIDToken: Bool = false,
        on connection: Connection,
        at moment: Moment
    ) {
        guard !connection.writer.isHead else { return }
        audit.add(.served, name, connection, isIDToken: isIDToken, at: moment.wallTime)
    }

    /// Returns a proof that the sender of `token` has the session's key (RFC 9449 §4.2).
    private func proof(
        for tokenRequest: ProofRequest,
        showing token: SecretID,
        of session: SessionName
    ) throws(RequestFailure) -> String {
        guard let key = registry[session]?.session.proofKey else {
            throw RequestFailure(
                code: .misconfigured,
                message: "the tokens are not bound to a key",
                session: session,
                remedy: .set("dpop = true in [session.\(session)], then run tokenctl login \(session)")
            )
        }
        guard let proof = authorization.proof(for: tokenRequest, showing: token, by: key) else {
            throw .lockedAgent
        }
        return proof
    }

    /// Answers a peer that rules apply to, after checking that it is still the same program.
    private func answerKnownPeer(_ token: AccessToken, to call: PendingTokenRequest) {
        let secrets = Set([token.secret, token.idToken?.secret].compactMap(\.self))
        erasure.retain(secrets)
        lookAgain(at: call) { [self] call in
            var call = call
            call.hasWaited = false
            answer(token, to: call, at: timekeeper.moment)
        } finally: { [erasure] in
            erasure.release(secrets)
        }
    }

    /// Inspects the peer again before it gets what it has waited for.
    func lookAgain(
        at call: PendingTokenRequest,
        then proceed: @escaping (PendingTokenRequest) -> Void,
        finally: @escaping () -> Void = {}
    ) {
        work.begin()
        tasks.start {
            await self.examiner.look(at: call.connection)
            self.proceedIfServing(call, then: proceed)
            finally()
            self.work.end()
        }
    }

    private func proceedIfServing(_ call: PendingTokenRequest, then proceed: (PendingTokenRequest) -> Void) {
        guard call.connection.state == .answering else { return }
        guard phase.isServing else { return answer(phase.refusal, to: call) }
        guard configuration.isStillAdmitted(call) else {
            answer(.unknown(call.session), to: call)
            return audit.add(.hidden, call.session, call.connection, isIDToken: call.wantsIDToken)
        }
        proceed(call)
    }

    func answer(_ failure: RequestFailure, to call: PendingTokenRequest) {
        registry.count(of: call.session) { $0.refused[failure.code.rawValue, default: 0] += 1 }
        call.connection.awaited = nil
        let configuration = configuration
        let told = configuration.withoutHiddenSources(failure, for: call.connection)
        call.connection.answer(HTTPResponse(configuration.explained(told, to: call.connection)))
        endTurn(of: call.connection)
    }
}

extension TokenQuery {
    /// Returns whether the query requests a token that is obtained only for a peer of a `[[socket]]`.
    fileprivate func isForeign(to call: PendingTokenRequest) -> Bool {
        call.connection.caller.isRestricted && variant != .primary
    }
}

extension TokenRequirements {
    /// Creates the requirements of `query` for `call`.
    init(_ query: TokenQuery, _ call: PendingTokenRequest, policy: SessionPolicy, at moment: Moment) {
        self.init(
            variant: query.variant,
            minimumValidity: query.minimumValidity,
            wantsIDToken: query.wantsIDToken,
            // A missing report proves nothing at a `[[socket]]`, where any peer may promise to report.
            reportsRefusals: query.reportsRefusals && !call.connection.caller.isRestricted,
            deadline: moment.now + (query.timeout ?? policy.getTimeout),
            isForeign: query.isForeign(to: call)
        )
    }
}

extension Effect {
    /// Whether the effect starts a refresh or answers a request.
    ///
    /// A token request without such an effect shares the refresh in flight.
    fileprivate var startsSomething: Bool {
        switch self {
        case .begin, .reply: true
        case .commit, .release, .forget, .revoke, .discard, .finishLogin, .finishLogout, .erase,
            .reauthenticate, .notify:
            false
        }
    }
}
