// SPDX-License-Identifier: MIT

import TokenCore

/// Carries out the effects of all sessions, each by the part whose job it is.
///
/// Confined to the agent's event loop.
final class EffectExecutor: EffectPerforming {
    private let parts: AgentParts
    private let requests: RequestHandler
    private let ports: AgentPorts

    init(parts: AgentParts, requests: RequestHandler, ports: AgentPorts) {
        self.parts = parts
        self.requests = requests
        self.ports = ports
    }

    func sessionChanged(_ name: SessionName) {
        parts.refreshes.sessionChanged(name)
        parts.files.follow(name)
    }

    func perform(_ effect: Effect, for name: SessionName, at moment: Moment) {
        switch effect {
        case .begin(let attempt): parts.refreshes.begin(attempt, of: name)
        case .commit(let number, let snapshot): parts.records.commit(number, snapshot, for: name)
        case .release(_, let answered): parts.refreshes.release(name, answered: answered)
        case .forget: parts.records.remove(name)
        case _ where parts.sharing.defersRevocation(effect, of: name): break
        case .revoke(let request): requests.logouts.revoke(request, for: name)
        case .discard(let request): parts.late.begin(request, for: name)
        case .reply(let waiter, let reply): requests.tokens.answer(waiter, reply, at: moment)
        case .finishLogin(let number, let result): requests.logins.finish(number, result, for: name)
        case .finishLogout(let result): requests.logouts.finish(result, for: name)
        case .erase(let secret): parts.erasure.erase(secret)
        case .reauthenticate(let number, let ways, let account):
            reauthenticate(number, ways, account: account, for: name)
        case .notify(let event): announce(event, for: name, at: moment)
        }
    }

    /// Logs in again without the user.
    private func reauthenticate(
        _ number: LoginNumber,
        _ ways: [NoninteractiveLoginMethod],
        account: String?,
        for name: SessionName
    ) {
        guard let kept = parts.registry[name] else { return }
        parts.log.sessionEnded(kept.session.status.reason, of: name)
        let login = NoninteractiveLoginAttempt(
            of: kept,
            account: account,
            ports: ports,
            phase: parts.phase,
            erasure: parts.erasure
        )
        parts.work.begin()
        parts.tasks.start {
            let outcome = await login.outcome(of: ways)
            let jitter = self.ports.chance()
            self.parts.registry.apply(name) { session, moment in
                session.noninteractiveLoginFinished(number, outcome, jitter: jitter, at: moment)
            }
            self.parts.work.end()
        }
    }

    /// Tells everybody who follows the events of sessions.
    func announce(_ event: SessionEvent, for name: SessionName, at moment: Moment) {
        parts.log.log(event, of: name, at: moment)
        parts.sources.follow(event, of: name)
        parts.events.publish(AgentEvent(event, of: name, at: moment))
    }
}
