// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The token that requests are sent with, asked for once for all of them.
///
/// It is kept for a minute at most: then a logout or a lock of the agent is heeded, and a call costs nothing until then.
actor ResourceTokens {
    /// Longest time without asking the agent.
    private static let longestKept: Duration = .seconds(60)

    private let source: SessionSource
    private let work = BlockingWork(threads: 4)
    private var session: String?
    private var kept: (token: TokenAnswer, until: ContinuousClock.Instant)?
    private var asking: Task<Result<TokenAnswer, AgentError>, Never>?
    private var replacing: (refused: ByteText, task: Task<Result<Bool, AgentError>, Never>)?
    /// What the server wants in the next proof of possession (RFC 9449 §8).
    private var nonce: String?

    init(_ source: SessionSource) {
        self.source = source
    }

    /// The token for a request.
    ///
    /// One that is bound to a key comes with a proof for this request alone, so it is asked for each time.
    func token(for method: String) async throws(AgentError) -> TokenAnswer {
        let token = try await keptToken()
        guard token.isBoundToKey else { return token }
        let proof = TokenDemand.Proof(url: source.address.text, method: method, nonce: nonce)
        let (source, session) = (source, session)
        let proven = await work.result { () throws(AgentError) in
            try source.token(named: session, proof: proof).token
        }
        let answer = try proven.get()
        guard answer.proof != nil else {
            throw AgentError(.internal, "the agent's answer holds no proof of possession")
        }
        return answer
    }

    /// Takes the nonce of an answer; whether the refused request is worth another try with it.
    func take(nonce new: String) -> Bool {
        defer { nonce = new }
        return nonce?.bytewise != new.bytewise
    }

    /// Tells the agent that a server refused `token`; whether another one is worth a try.
    ///
    /// All requests that were refused with one token share one report.
    func replace(_ token: TokenAnswer, _ report: RefusalReport) async throws(AgentError) -> Bool {
        let refused = token.value.bytewise
        if let kept, kept.token.value.bytewise != refused { return true }
        let task: Task<Result<Bool, AgentError>, Never>
        if let replacing, replacing.refused == refused {
            task = replacing.task
        } else {
            task = Task { await self.report(token, report) }
            replacing = (refused, task)
        }
        let result = await task.value
        if replacing?.task == task { replacing = nil }
        return try result.get()
    }

    private func keptToken() async throws(AgentError) -> TokenAnswer {
        if let kept, ContinuousClock.now < kept.until { return kept.token }
        let task = asking ?? Task { await self.ask() }
        asking = task
        let result = await task.value
        if asking == task { asking = nil }
        return try result.get()
    }

    private func ask() async -> Result<TokenAnswer, AgentError> {
        let (source, session) = (source, session)
        let result = await work.result { () throws(AgentError) in try source.token(named: session) }
        kept = nil
        guard case .success(let answer) = result else { return result.map(\.token) }
        self.session = answer.session
        keep(answer.token)
        return .success(answer.token)
    }

    private func report(_ token: TokenAnswer, _ report: RefusalReport) async -> Result<Bool, AgentError> {
        guard let session else { return .success(false) }
        let source = source
        let result = await work.result { () throws(AgentError) in
            try source.replacement(for: token, of: session, report)
        }
        switch result {
        case .success(let fresh?):
            keep(fresh)
            return .success(true)
        case .success(nil):
            return .success(false)
        case .failure(let error):
            // A login that has to be stepped up is not over.
            if error.code != .loginRequired || report.status == 401 { kept = nil }
            return .failure(error)
        }
    }

    /// Keeps the token until it is refreshed or near its end, or a third of its life is left.
    private func keep(_ token: TokenAnswer) {
        let life = token.expiresIn.map { Duration.seconds($0) }
        let good = life.map { $0 - min(.seconds(60), $0 / 3) } ?? ResourceTokens.longestKept
        kept = (token, ContinuousClock.now + min(good, ResourceTokens.longestKept))
    }
}
