// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SessionAgent {
    /// Serves `GET …/token`: in this very turn of the loop when the session's token is good.
    func serveToken(_ query: TokenQuery, _ call: TokenCall) {
        guard let index = sessions.index(forKey: call.session) else {
            return answer(unknown(call.session), to: call)
        }
        let waiter = WaiterID(rawValue: freshNumber())
        let moment = ports.timekeeper.moment
        let timeout = query.timeout ?? sessions.values[index].session.policy.getTimeout
        let need = TokenNeed(
            variant: query.variant,
            minimumValidity: query.minimumValidity,
            wantsIDToken: query.wantsIDToken,
            // Nothing is learned from what anybody at a socket of others leaves unsaid.
            reportsRefusals: query.reportsRefusals && call.connection.restrictedPath == nil,
            deadline: moment.now + timeout,
            isForeign: call.connection.restrictedPath != nil && query.variant != .primary
        )
        if need.isForeign, !sessions.values[index].session.meets(need, at: moment.now),
            !takesTurn(need, query, call)
        {
            return
        }
        let effects = sessions.values[index].session.tokenRequested(by: waiter, need, at: moment)
        if effects.count == 1, case .reply(waiter, let reply) = effects[0] {
            // Nothing but this request has changed.
            return answer(reply, to: call, at: moment)
        }
        wait(waiter, call)
        if !effects.contains(where: \.startsSomething) {
            sessions.values[index].counts.coalesced += 1
            demand(call.session)
        }
        perform(effects, for: call.session, at: moment)
        planWake(call.session)
    }

    /// Serves `POST …/refresh`.
    func serveRefresh(_ request: HTTPRequest, _ call: TokenCall) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["rejected_token", "scope", "audience"])
        guard let kept = sessions[call.session] else { throw unknown(call.session) }
        let variant = try TokenVariant(body)
        guard let text = try body.string("rejected_token") else {
            return forceRefresh(variant ?? .primary, rejecting: nil, call)
        }
        let rejected = try rejectedToken(text, variant, in: kept)
        // Without a word of why it was refused nobody is to lose a login that cannot be refreshed.
        guard rejected.isHeld, kept.session.canRefresh else {
            return forceRefresh(rejected.variant, rejecting: rejected.secret, call)
        }
        refuse(rejected, call)
    }

    /// Refreshes even though the token may look good.
    func forceRefresh(_ variant: TokenVariant, rejecting rejected: SecretID?, _ call: TokenCall) {
        guard let kept = sessions[call.session] else { return answer(unknown(call.session), to: call) }
        let waiter = WaiterID(rawValue: freshNumber())
        let timeout = kept.session.policy.getTimeout
        wait(waiter, call)
        apply(call.session) { session, moment in
            session.refreshRequested(
                by: waiter,
                variant,
                rejecting: rejected,
                deadline: moment.now + timeout,
                at: moment
            )
        }
    }

    /// Never hands out `token` again; gets another one.
    func refuse(_ token: RejectedToken, _ call: TokenCall) {
        guard let kept = sessions[call.session] else { return answer(unknown(call.session), to: call) }
        let waiter = WaiterID(rawValue: freshNumber())
        let timeout = kept.session.policy.getTimeout
        let fingerprint = ports.vault.fingerprint(of: token.secret)
        wait(waiter, call)
        apply(call.session) { session, moment in
            session.tokenRefused(
                by: waiter,
                token.secret,
                fingerprint,
                deadline: moment.now + timeout,
                at: moment
            )
        }
    }

    private func wait(_ waiter: WaiterID, _ call: TokenCall) {
        calls[waiter] = call
        calls[waiter]?.hasWaited = true
        call.connection.awaited = .token(call.session, waiter)
    }

    /// Forgets what a peer that left was waiting for; what it started goes on for the others.
    func withdraw(_ connection: Connection) {
        defer { connection.awaited = nil }
        if !arrivals.isEmpty { arrivals.removeAll { $0.connection === connection } }
        endTurn(of: connection)
        switch connection.awaited {
        case .token(let name, let waiter):
            calls[waiter] = nil
            apply(name) { session, _ in session.requestWithdrawn(by: waiter) }
        case .login(let number): cancelLogin(number)
        case .logout(let name): sessions[name]?.logouts.removeAll { $0 === connection }
        case .events:
            subscribers[ObjectIdentifier(connection)] = nil
            auditFollowers[ObjectIdentifier(connection)] = nil
        case .confirmation(let key): questions.withdraw(connection, from: key)
        case .turn, nil: break
        }
    }
}

// MARK: Answers

extension SessionAgent {
    func answer(_ waiter: WaiterID, _ reply: Reply, at moment: Moment) {
        guard let call = calls.removeValue(forKey: waiter) else { return }
        answer(reply, to: call, at: moment)
    }

    private func answer(_ reply: Reply, to call: TokenCall, at moment: Moment) {
        switch reply {
        case .token(let token): answer(token, to: call, at: moment)
        case .failure(.tokenRefused(let message, let retryAfter)) where call.format == .retry:
            answerNone(message, retryAfter: retryAfter, to: call)
        case .failure(let failure):
            answer(RequestFailure(failure, of: call.session, sessions[call.session]?.settings), to: call)
        }
    }

    /// Nothing helps whoever reported a refusal now.
    func answerNone(_ message: String, retryAfter: Duration? = nil, to call: TokenCall) {
        var object = JSONObject()
        object["action"] = "none"
        object["message"] = .string(RequestFailure.sentence(message))
        object["retry_after"] = retryAfter.map { .integer(max(1, $0.wholeSeconds)) }
        call.connection.awaited = nil
        call.connection.answer(.json(.object(object)))
    }

    private func answer(_ token: AccessToken, to call: TokenCall, at moment: Moment) {
        guard !call.hasWaited || configuration.sessions[call.session]?.rules.isEmpty != false else {
            return answerKnownPeer(token, to: call)
        }
        guard let secret = call.wantsIDToken ? token.idToken : token.secret else {
            return answer(
                RequestFailure(.noIDToken, of: call.session, sessions[call.session]?.settings),
                to: call
            )
        }
        let proof: String?
        do throws(RequestFailure) {
            proof = try call.proof.map { demand throws(RequestFailure) in
                try self.proof(for: demand, showing: secret, of: call.session)
            }
        } catch {
            return answer(error, to: call)
        }
        let answer = TokenAnswer(
            session: call.session,
            token: token,
            wantsIDToken: call.wantsIDToken,
            format: call.format,
            moment: moment,
            proof: proof
        )
        call.connection.awaited = nil
        defer { endTurn(of: call.connection) }
        var body = scratch.take()
        do {
            try unsafe ports.vault.open(secret) { bytes in
                call.connection.respond { writer, output in
                    unsafe answer.write(bytes, as: writer, scratch: &body, to: &output)
                }
            }
            count(.served, of: call)
            if !call.connection.writer.isHead {
                let (isID, time) = (call.wantsIDToken, moment.wallTime)
                audit(.served, call.session, call.connection, isIDToken: isID, at: time)
            }
        } catch {
            log(.error, "a token cannot be opened", call.session)
            let message = "The token cannot be opened."
            self.answer(RequestFailure(code: .internal, message: message, session: call.session), to: call)
        }
        scratch.giveBack(body)
    }

    /// Answers a peer that rules are about once it is clear that it is who it was.
    private func answerKnownPeer(_ token: AccessToken, to call: TokenCall) {
        let secrets = Set([token.secret, token.idToken].compactMap(\.self))
        lent.lend(secrets)
        lookAgain(at: call) { agent, call in
            var call = call
            call.hasWaited = false
            agent.answer(token, to: call, at: agent.ports.timekeeper.moment)
        } finally: { agent in
            for secret in agent.lent.giveBack(secrets) { agent.erase(secret) }
        }
    }

    func answer(_ failure: RequestFailure, to call: TokenCall) {
        count(.refused(failure.code), of: call)
        call.connection.awaited = nil
        call.connection.answer(Answer(explained(failure, to: call.connection)))
        endTurn(of: call.connection)
    }

    private enum Ending {
        case served
        case refused(FailureCode)
    }

    private func count(_ ending: Ending, of call: TokenCall) {
        guard let index = sessions.index(forKey: call.session) else { return }
        switch ending {
        case .served: sessions.values[index].counts.served += 1
        case .refused(let code): sessions.values[index].counts.refused[code.rawValue, default: 0] += 1
        }
    }

    func unknown(_ name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .notFound,
            message: "There is no session \(name) in the configuration.",
            session: name,
            remedy: "tokenctl list"
        )
    }
}

extension Effect {
    /// Begins a refresh, or answers: the request did not merely join one.
    fileprivate var startsSomething: Bool {
        switch self {
        case .reserve, .refresh, .reply: true
        case .commit, .release, .forget, .revoke, .discard, .finishLogin, .finishLogout, .erase,
            .reauthenticate, .notify:
            false
        }
    }
}
