// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The tokens that requests are sent with, each asked for anew.
///
/// Nothing is kept, so the next request heeds a lock, a logout, another login and the end of the agent, and what a request
/// was sent with is gone with it. The agent answers from memory in a fraction of a millisecond. To keep a token until the
/// agent's events tell of a change would save that, but use it until the event has arrived, and could not be done at a
/// `[[socket]]`, which tells none.
actor ResourceTokens {
    /// What the agent's answer to a report depends on.
    private struct Refusal: Hashable {
        var token: ByteText
        var status: Int
        /// What the server wants of the login; `nil`: it wants another token.
        var wish: Wish?

        struct Wish: Hashable {
            var challenge: ByteText
            var body: [UInt8]
        }

        init(_ token: AgentToken, _ report: RefusalReport, _ subject: RefusalSubject) {
            self.token = token.value.bytewise
            status = report.status
            // Refusals of a token that differ in a time or a number only would count as several.
            guard subject == .login else { return }
            wish = Wish(
                challenge: report.challenge.bytewise,
                // Without the identifier of the request.
                body: RPCFailure.stated(in: report.body)?.failure.error ?? report.body
            )
        }
    }

    private let source: SessionSource
    private let work = BlockingWork(threads: 4)
    /// The session that the last token was of.
    private var session: String?
    /// Whether its tokens are bound to a key, so that each request needs a proof of its own.
    private var needsProof = false
    private var replacing: [Refusal: Task<Result<Bool, AgentError>, Never>] = [:]
    /// What the server wants in the next proof of possession (RFC 9449 §8).
    private var nonce: String?

    init(_ source: SessionSource) {
        self.source = source
    }

    /// The token for a request; one that is bound to a key comes with a proof for this request alone.
    func token(for method: String) async throws(AgentError) -> AgentToken {
        let proof = TokenRequest.Proof(url: source.address.text, method: method, nonce: nonce)
        let isProven = needsProof
        let first = await ask(isProven ? proof : nil)
        // The session may have become one of the other sort: the agent gives no proof for a token that needs none.
        switch first {
        case .success(let answer) where !isProven && answer.isBoundToKey: needsProof = true
        case .failure(let error) where isProven && error.code == .misconfigured: needsProof = false
        default: return try checked(first.get())
        }
        return try checked(await ask(isProven ? nil : proof).get())
    }

    /// Takes the nonce of an answer; whether the refused request is worth another try with it.
    func take(nonce new: String) -> Bool {
        defer { nonce = new }
        return nonce?.bytewise != new.bytewise
    }

    /// Tells the agent that a server refused `token`; whether another one is worth a try.
    ///
    /// Requests that were refused with one token share one report. Where a server wants more of the login each wish has its
    /// own: a tool may want another scope than the next one.
    func replace(
        _ token: AgentToken,
        _ report: RefusalReport,
        _ subject: RefusalSubject
    ) async throws(AgentError) -> Bool {
        let refusal = Refusal(token, report, subject)
        let task = replacing[refusal] ?? Task { await self.replaced(token, report) }
        replacing[refusal] = task
        let result = await task.value
        if replacing[refusal] == task { replacing[refusal] = nil }
        return try result.get()
    }

    private func checked(_ answer: AgentToken) throws(AgentError) -> AgentToken {
        guard !answer.isBoundToKey || answer.proof != nil else {
            throw AgentError(.internal, "the agent's answer holds no proof of possession")
        }
        return answer
    }

    private func ask(_ proof: TokenRequest.Proof?) async -> Result<AgentToken, AgentError> {
        let (source, session) = (source, session)
        let result = await work.result { () throws(AgentError) in
            try source.token(named: session, proof: proof)
        }
        if case .success(let answer) = result { self.session = answer.session }
        return result.map(\.token)
    }

    private func replaced(_ token: AgentToken, _ report: RefusalReport) async -> Result<Bool, AgentError> {
        // Whoever was refused with it before has told the agent, which has another one since then.
        if case .success(let present) = await ask(nil), present.value.bytewise != token.value.bytewise {
            return .success(true)
        }
        guard let session else { return .success(false) }
        let source = source
        let result = await work.result { () throws(AgentError) in
            try source.replacement(for: token, of: session, report)
        }
        return result.map { $0 != nil }
    }
}
