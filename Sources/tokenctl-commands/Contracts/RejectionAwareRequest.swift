// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// How a program shows that its server refused the last credential it got from us.
enum RefusalSign {
    /// It does not.
    case none
    /// It asks the same again within seconds.
    case repetition(of: String)
    /// It hands over the answer of the server it asks about; nil at its first question.
    case answer(CurlResponse?, to: String, by: HostName?)
}

/// Asks for a token and heeds signs that the last one was refused.
struct RejectionAwareRequest {
    /// How soon a second question means a refusal: 10 s.
    ///
    /// A program that got a good token asks again only when it expires.
    private static let window: Int64 = 10
    /// How long a program may take to hand over its server's answer: an hour.
    private static let patience: Int64 = 3600

    let demand: TokenRequest
    let sign: RefusalSign
    let endpoint: AgentEndpoint

    /// The token, a fresh one if there are signs that the present one was refused.
    func token() throws(AgentError) -> AgentToken {
        let token = try endpoint.token(demand)
        let question: String
        switch sign {
        case .none: return token
        case .repetition(let text), .answer(_, let text, _): question = "\(demand.session) \(text)"
        }
        guard let memory = RecentRequestCache(of: endpoint) else { return token }
        let times = memory.timesGiven(token, for: question, within: RejectionAwareRequest.window)
        let fresh = try replacement(of: token, for: question, after: times, memory)
        memory.remember(fresh ?? token, for: question, after: fresh == nil ? times : 0)
        return fresh ?? token
    }

    private func replacement(
        of token: AgentToken,
        for question: String,
        after times: Int,
        _ memory: RecentRequestCache
    ) throws(AgentError) -> AgentToken? {
        switch sign {
        case .none: return nil
        case .repetition:
            // A guess: it does not count against the token, which is given again if no refresh is possible.
            guard isRefused(token, question, after: times, memory) else { return nil }
            endpoint.replace(token, demand)
            let fresh = try endpoint.token(demand)
            memory.noteBrought(fresh, for: question)
            return fresh
        case .answer(let answer, _, let place):
            // The server may have refused a request that held no token of ours.
            guard let refusal = answer?.refusal,
                memory.wasGiven(token, for: question, within: RejectionAwareRequest.patience)
            else { return nil }
            let report = RefusalReport(
                status: refusal.status,
                challenge: refusal.challenge,
                body: [],
                place: place
            )
            guard try report.send(token, to: endpoint, about: demand) != nil else { return nil }
        }
        return try endpoint.token(demand)
    }

    /// Whether a question that was answered with `token` so many `times` in a row may stand for a refusal, and be worth a
    /// refresh now.
    ///
    /// Some programs ask twice when all is well, such as kubectl at a cluster that lets nobody look around unnamed; with a
    /// third question they have been refused like others with the second.
    private func isRefused(
        _ token: AgentToken,
        _ question: String,
        after times: Int,
        _ memory: RecentRequestCache
    ) -> Bool {
        guard times > 0, times > 1 || !memory.isRepeatedAnyway(question, for: token) else { return false }
        return memory.mayRefresh(demand.session)
            || times > 1 && memory.mayRefresh(demand.session, repeatedAgain: true)
    }
}

extension AgentEndpoint {
    /// Has `token` replaced, as it was perhaps refused, and ignores failures.
    ///
    /// A `[[socket]]` denies refreshes. A report there costs at most one refresh a minute and counts against
    /// no token.
    func replace(_ token: AgentToken, _ demand: TokenRequest) {
        do throws(AgentError) {
            try refresh(demand)
        } catch {
            guard error.code == .denied else { return }
            let report = RefusalReport(status: 401, challenge: "", body: [])
            _ = try? report.send(token, to: self, about: demand)
        }
    }

    /// Refreshes the token that `demand` describes, whether or not it is still good.
    private func refresh(_ demand: TokenRequest) throws(AgentError) {
        var body = JSONBody<RefreshMembers>()
        body.add(demand.scopes, demand.audience)
        let request = AgentRequest(.post, "sessions", demand.session, "refresh", body: body.finished())
        try send(request, timeout: demand.patience)
    }
}
