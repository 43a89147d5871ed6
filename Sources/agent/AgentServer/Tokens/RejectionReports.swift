// SPDX-License-Identifier: MIT

import AgentProtocol
import SecretMemory
import Text
import TokenCore

/// The reports of clients about tokens that resource servers have rejected.
///
/// Confined to the agent's event loop.
final class RejectionReports {
    private let memory: SealedMemory
    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let timekeeper: any Timekeeper
    private let tokens: TokenRequests
    private let turns: RequesterLimiter
    private let confirmations: Confirmations
    /// The rejections without a reason, which have no effect on their own.
    private var bare: [SessionName: UnexplainedRejections] = [:]

    init(
        ports: AgentPorts,
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        tokens: TokenRequests,
        turns: RequesterLimiter,
        confirmations: Confirmations
    ) {
        memory = ports.memory
        timekeeper = ports.timekeeper
        self.registry = registry
        self.configuration = configuration
        self.tokens = tokens
        self.turns = turns
        self.confirmations = confirmations
    }

    /// Serves `POST …/refresh`.
    func serveRefresh(_ request: HTTPRequest, _ call: PendingTokenRequest) throws(RequestFailure) {
        let body = try ParsedRequestBody(request.body, RefreshRequestMembers.self)
        guard let kept = registry[call.session] else { throw .unknown(call.session) }
        let variant = try TokenVariant(scope: body.value(\.scope), audience: body.value(\.audience))
        var call = call
        if let variant, variant != .primary, kept.settings.policy.roles == .variants {
            call.format = .renewal
        }
        guard let text = try body.value(\.rejectedToken) else {
            return tokens.forceRefresh(variant ?? .primary, rejecting: nil, call)
        }
        let rejected = RejectedToken(text, variant, of: kept.session, in: memory)
        guard rejected.isHeld else {
            return tokens.forceRefresh(rejected.variant, rejecting: rejected.secret, call)
        }
        // A single rejection without a reason must not end a login that cannot be refreshed.
        guard
            kept.session.canRefresh
                || bare[call.session, default: UnexplainedRejections()].add(
                    rejected.secret,
                    of: nil,
                    at: timekeeper.now
                )
        else { throw .refusedOnce(call.session) }
        tokens.refuse(rejected, call)
    }

    /// Serves `POST …/report`: a resource server has rejected a token, and the response says what helps.
    func serve(_ request: HTTPRequest, _ call: PendingTokenRequest) throws(RequestFailure) {
        let body = try ParsedRequestBody(request.body, RejectionReportRequestMembers.self)
        guard let kept = registry[call.session] else { throw .unknown(call.session) }
        let refusal = ReportedRejection(
            status: try body.value(\.status) ?? 0,
            challenge: try body.value(\.challenge) ?? "",
            body: try body.value(\.body) ?? "",
            host: try body.value(\.host)
        )
        let token = try body.required(\.token)
        let variant = try TokenVariant(scope: body.value(\.scope), audience: body.value(\.audience))
        if call.connection.caller.restriction != nil {
            let rejected = RejectedToken(token, variant, of: kept.session, in: memory)
            return try followSparingly(refusal, of: rejected, call)
        }
        let verdict = refusal.verdict(for: kept.settings)
        guard verdict != .unrelated else { return tokens.answerNone(to: call) }
        if case .stepUp(let stepUp) = verdict,
            RejectedToken(token, variant, of: kept.session, in: memory).isHeld
        {
            return answer(stepUp, to: call)
        }
        // The user is not prompted for a rejection without an effect.
        try confirmations.confirmed(call) { [self] call throws(RequestFailure) in
            try follow(refusal, verdict, of: token, variant, call)
        }
    }

    /// Responds with what a login must request, if there is a login that can.
    private func answer(_ stepUp: StepUpChallenge, to call: PendingTokenRequest) {
        let login = configuration.current.origin(of: call.session)
        guard configuration[login]?.loginAsksForMore == true else {
            return tokens.answerNone("no login can request more", to: call)
        }
        guard configuration.isShown(login, to: call.connection) else {
            return tokens.answerNone("only a login to another session can request more", to: call)
        }
        tokens.answerStepUp(stepUp, by: login, to: call)
    }

    private func follow(
        _ refusal: ReportedRejection,
        _ verdict: ReportedRejection.Verdict,
        of text: String,
        _ variant: TokenVariant?,
        _ call: PendingTokenRequest
    ) throws(RequestFailure) {
        guard let kept = registry[call.session] else { throw .unknown(call.session) }
        let token = RejectedToken(text, variant, of: kept.session, in: memory)
        var call = call
        call.format = .retry
        // A client that reports an old token gets the token that has replaced it.
        guard token.isHeld else {
            return tokens.forceRefresh(token.variant, rejecting: token.secret, call)
        }
        if verdict == .sessionOver {
            let message =
                "session ended by the resource server: \(refusal.code(for: kept.settings) ?? "no code")"
            return endSession(message, call)
        }
        if verdict == .tokenRefused(isStated: false), !kept.session.canRefresh,
            !isRepeated(refusal, token, kept.settings, call, at: timekeeper.now)
        {
            return tokens.answerNone(
                "a rejection without a reason does not end a login that cannot be refreshed",
                to: call
            )
        }
        if kept.settings.endsWithSecondRefusal,
            kept.session.isFreshReplacement(token.secret, at: timekeeper.now)
        {
            return endSession("the resource server rejected the refreshed token too", call)
        }
        tokens.refuse(token, call)
    }

    /// Returns whether one of the session's own servers has rejected the token without a reason a short time
    /// ago.
    private func isRepeated(
        _ refusal: ReportedRejection,
        _ token: RejectedToken,
        _ settings: SessionSettings,
        _ call: PendingTokenRequest,
        at now: Instant
    ) -> Bool {
        guard let host = refusal.host, let place = HostAndPort(host),
            settings.hosts.contains(where: { HostRule($0)?.closeness(to: place) != nil })
        else { return false }
        return bare[call.session, default: UnexplainedRejections()].add(token.secret, of: place, at: now)
    }

    private func endSession(_ message: String, _ call: PendingTokenRequest) {
        registry.apply(call.session) { session, moment in session.endReported(message, at: moment) }
        let failure = RequestFailure(.loginRequired(.grantDead, message: message), of: call.session)
        tokens.answer(failure, to: call)
    }

    /// Handles a report at a `[[socket]]`, which causes at most an occasional refresh.
    ///
    /// Anyone with access to the socket may claim anything about a token. So no report ends the session or
    /// takes a token from others: the body is ignored, and no token counts as rejected.
    private func followSparingly(
        _ refusal: ReportedRejection,
        of token: RejectedToken,
        _ call: PendingTokenRequest
    ) throws(RequestFailure) {
        guard let kept = registry[call.session] else { throw .unknown(call.session) }
        try configuration.checkVariant(token.variant, call)
        var refusal = refusal
        refusal.body = ""
        guard case .tokenRefused = refusal.verdict(for: kept.settings), kept.session.canRefresh,
            kept.session.heldTokens[token.variant] != nil,
            !token.isHeld || turns.mayRefresh(call.session, at: timekeeper.now)
        else { return tokens.answerNone(to: call) }
        // The response contains a token, which may require the user's confirmation.
        try confirmations.confirmed(call) { [self] call throws(RequestFailure) in
            var call = call
            call.format = .retry
            tokens.forceRefresh(token.variant, rejecting: token.secret, call)
        }
    }
}
