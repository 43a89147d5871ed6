// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// A source of the tokens for requests, which asks the agent for each request.
///
/// Nothing is cached. So the next request observes a lock, a logout, another login and the exit of the agent,
/// and a token is discarded after its request. The agent responds from memory in a fraction of a millisecond.
/// A cache invalidated by the agent's events would use an old token until the event arrives, and would not
/// work with a `[[socket]]`, which reports no events.
actor ResourceTokenSource {
    /// The parts of a rejection that determine the agent's response to a report.
    private struct RejectionKey: Hashable {
        var token: ByteText
        var status: Int
        /// The server's requirements for the login, or `nil` if it requires another token.
        var requirements: Requirements?

        struct Requirements: Hashable {
            var challenge: ByteText
            var body: [UInt8]
        }

        init(_ token: AgentToken, _ report: TokenRejectionReport, _ subject: RejectionSubject) {
            self.token = token.value.bytewise
            status = report.status
            // Otherwise, rejections of one token that differ only in a time or a number would count as
            // several.
            guard subject == .login else { return }
            requirements = Requirements(
                challenge: report.challenge.bytewise,
                // Without the identifier of the request.
                body: RPCFailure.stated(in: report.body)?.failure.error ?? report.body
            )
        }
    }

    private let source: ResourceSession
    private let work = BlockingWork(threads: 4)
    /// The name of the session that provided the last token.
    private var session: String?
    /// Whether the tokens are bound to a key, so that each request needs its own proof.
    private var needsProof = false
    private var replacing: [RejectionKey: Task<Result<Bool, AgentError>, Never>] = [:]
    /// The nonce required in the next proof of possession (RFC 9449 §8).
    private var nonce: String?

    init(_ source: ResourceSession) {
        self.source = source
    }

    /// Returns the token for a request.
    ///
    /// A token bound to a key comes with a proof for this request alone.
    func token(for method: String) async throws(AgentError) -> AgentToken {
        let proof = TokenRequest.ProofTarget(url: source.address.text, method: method, nonce: nonce)
        let isProven = needsProof
        let first = await ask(isProven ? proof : nil)
        // The session may have changed to the other kind. The agent gives no proof for a token that needs
        // none.
        switch first {
        case .success(let answer) where !isProven && answer.isBoundToKey: needsProof = true
        case .failure(let error) where isProven && error.code == .misconfigured: needsProof = false
        default: return try checked(first.get())
        }
        return try checked(await ask(isProven ? nil : proof).get())
    }

    /// Stores the nonce of a response.
    ///
    /// - Returns: whether a rejected request is worth another try with the nonce.
    func take(nonce new: String) -> Bool {
        defer { nonce = new }
        return nonce?.bytewise != new.bytewise
    }

    /// Reports to the agent that a server rejected `token`.
    ///
    /// Requests rejected with the same token share one report. If the server requires more of the
    /// login, each requirement is reported separately: one tool may require another scope than the next one.
    ///
    /// - Returns: whether another try is worthwhile.
    func replace(
        _ token: AgentToken,
        _ report: TokenRejectionReport,
        _ subject: RejectionSubject
    ) async throws(AgentError) -> Bool {
        let refusal = RejectionKey(token, report, subject)
        let task = replacing[refusal] ?? Task { await self.replaced(token, report) }
        replacing[refusal] = task
        let result = await task.value
        if replacing[refusal] == task { replacing[refusal] = nil }
        return try result.get()
    }

    private func checked(_ answer: AgentToken) throws(AgentError) -> AgentToken {
        guard !answer.isBoundToKey || answer.proof != nil else {
            throw AgentError(.internal, "the agent's response contains no proof of possession")
        }
        return answer
    }

    private func ask(_ proof: TokenRequest.ProofTarget?) async -> Result<AgentToken, AgentError> {
        let (source, session) = (source, session)
        let result = await work.result { () throws(AgentError) in
            try source.token(named: session, proof: proof)
        }
        if case .success(let answer) = result { self.session = answer.session }
        return result.map(\.token)
    }

    private func replaced(
        _ token: AgentToken,
        _ report: TokenRejectionReport
    ) async -> Result<Bool, AgentError> {
        // Another request rejected with the same token may have reported it, and the agent has a new token
        // since then.
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
