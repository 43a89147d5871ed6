// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// The token that one request is sent with.
struct Credential: Sendable {
    let answer: AgentToken
    /// The value of the `Authorization` field.
    let authorization: String

    init(answer: AgentToken) {
        self.answer = answer
        // Scheme names are case-insensitive, but some servers accept only the spelling of RFC 6750 §2.1.
        let isBearer = answer.type.utf8.elementsEqual("bearer".utf8) || answer.type.isEmpty
        authorization = "\(isBearer ? "Bearer" : answer.type) \(answer.value)"
    }
}

/// A source of tokens for one listener, which caches a token of the agent for at most one second.
///
/// The agent is asked for a token again each second, so it decides when a new one is due. Within that second
/// a cached token is dropped as soon as anything happens to any session, such as a lock or a logout. If the
/// agent does not report events, nothing is cached.
///
/// Unchecked: confined to the event loop.
final class CredentialProvider: @unchecked Sendable {
    typealias Received = (Result<Credential, AgentError>) -> Void
    /// The request that a proof of possession covers, evaluated only for tokens that require a proof.
    typealias Proof = () -> TokenRequest.ProofTarget

    private static let maximumReuse = TimeAmount.seconds(1)

    private let tokenRequest: TokenRequest
    private let claim: String?
    private let agent: AgentConnectionPool
    private let watch: EventWatch
    private var held: (credential: Credential, until: NIODeadline)?
    private var waiting: [(proof: Proof, received: Received)] = []
    /// The number of invalidations, so that a token requested before an invalidation is not cached after it.
    private var generation: UInt64 = 0
    /// Whether each request needs its own proof (RFC 9449 §4).
    private(set) var needsProof = false
    /// The latest nonce from the upstream (RFC 9449 §8.2).
    var nonce: String?

    init(_ table: ListenerDefinition, agent: AgentConnectionPool, watch: EventWatch) {
        tokenRequest = table.tokenRequest
        claim = table.claim
        self.agent = agent
        self.watch = watch
    }

    /// Invalidates the cached token, and any token that is being requested.
    func drop() {
        held = nil
        generation &+= 1
    }

    /// Gets a token.
    ///
    /// A token bound to a key comes with a proof for the request.
    func get(_ proof: @escaping Proof, _ received: @escaping Received) {
        watch.begin()
        guard !needsProof else { return ask(proof(), received) }
        if let held, held.until > .now() { return received(.success(held.credential)) }
        held = nil
        waiting.append((proof, received))
        guard waiting.count == 1 else { return }
        let asked = generation
        ask(nil) { [self] result in
            let waiting = waiting
            self.waiting = []
            if case .success(let credential) = result {
                guard !credential.answer.isBoundToKey else {
                    needsProof = true
                    for (proof, received) in waiting { get(proof, received) }
                    return
                }
                keep(credential, askedAt: asked)
            }
            for (_, received) in waiting { received(result) }
        }
    }

    private func keep(_ credential: Credential, askedAt asked: UInt64) {
        guard asked == generation, watch.isListening else { return }
        let life = credential.answer.expiresIn.map { TimeAmount.milliseconds(max(0, min($0, 3600)) * 250) }
        held = (
            credential, .now() + min(CredentialProvider.maximumReuse, life ?? CredentialProvider.maximumReuse)
        )
    }

    private func ask(_ proof: TokenRequest.ProofTarget?, _ received: @escaping Received) {
        var tokenRequest = tokenRequest
        tokenRequest.proof = proof
        var request = tokenRequest.request(plainText: false)
        request.listener = claim
        agent.ask(request) { result in
            received(
                result.flatMap { response in
                    do throws(AgentError) {
                        return .success(Credential(answer: try AgentToken(parsing: response.body)))
                    } catch {
                        return .failure(error)
                    }
                }
            )
        }
    }

    /// The agent's verdict on a rejected token.
    enum Verdict {
        /// Another token may help.
        ///
        /// Next: the request is sent again.
        case retry
        /// No other token helps.
        ///
        /// Next: the upstream's response is forwarded.
        case pass
        /// The login has ended.
        ///
        /// Next: the client gets the agent's error.
        case over(AgentError)
    }

    /// Reports to the agent that the upstream rejected a token.
    func report(_ credential: Credential, _ refusal: UpstreamRejection, _ judged: @escaping (Verdict) -> Void)
    {
        if let held, held.credential.answer.value.bytewise == credential.answer.value.bytewise { drop() }
        let body = WireMessage<RejectionReportRequestMembers> {
            $0.token = credential.answer.value
            $0.status = Int64(refusal.status)
            $0.challenge = RejectionReportRequestMembers.fitting(refusal.challenge)
            $0.body = RejectionReportRequestMembers.readable(refusal.body)
            $0.host = refusal.host
            if !tokenRequest.scopes.isEmpty { $0.scope = tokenRequest.scopes.joined(separator: " ") }
            $0.audience = tokenRequest.audience
        }
        var request = AgentRequest(
            .post,
            "sessions",
            tokenRequest.session,
            "report",
            body: body.json.serialized
        )
        request.listener = claim
        agent.ask(request) { result in
            switch result {
            case .success(let response):
                let answer = RejectionReportMessage(parsing: response.body)
                judged(answer?.action == .retry ? .retry : .pass)
            case .failure(let error):
                judged(error.code == .loginRequired ? .over(error) : .pass)
            }
        }
        request.wipeBody()
    }
}

/// The response of an upstream that rejected a token.
struct UpstreamRejection {
    var status: Int
    var challenge: String
    /// The body, or empty if the whole body is not known.
    var body: [UInt8]
    /// The host and port of the upstream.
    var host: String
}
