// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// What one request is sent with.
struct Credential: Sendable {
    let answer: AgentToken
    /// The value of `Authorization`.
    let authorization: String

    init(answer: AgentToken) {
        self.answer = answer
        // Names of schemes are compared in either case, and some servers want this one as RFC 6750 §2.1 writes it.
        let isBearer = answer.type.utf8.elementsEqual("bearer".utf8) || answer.type.isEmpty
        authorization = "\(isBearer ? "Bearer" : answer.type) \(answer.value)"
    }
}

/// Has the tokens of one listener: those of the agent, kept for a second at most.
///
/// A token is asked for anew each second, so the agent decides when another one is due. Within that second it is dropped
/// as soon as anything happens to any session, such as a lock or a logout; where the agent does not tell, nothing is kept.
///
/// Unchecked: confined to the event loop.
final class CredentialProvider: @unchecked Sendable {
    typealias Received = (Result<Credential, AgentError>) -> Void
    /// What a request wants a proof of; made for those tokens alone that need one.
    typealias Proof = () -> TokenRequest.Proof

    private static let longestUse = TimeAmount.seconds(1)

    private let demand: TokenRequest
    private let claim: String?
    private let agent: AgentConnectionPool
    private let watch: EventWatch
    private var held: (credential: Credential, until: NIODeadline)?
    private var waiting: [(proof: Proof, received: Received)] = []
    /// Counts what has happened, so that a token that was asked for before is not kept after.
    private var generation: UInt64 = 0
    /// Whether each request needs a proof of its own (RFC 9449 §4).
    private(set) var needsProof = false
    /// The nonce that the upstream gave last (RFC 9449 §8.2).
    var nonce: String?

    init(_ table: ListenerTable, agent: AgentConnectionPool, watch: EventWatch) {
        demand = table.demand
        claim = table.claim
        self.agent = agent
        self.watch = watch
    }

    /// Forgets what is held.
    func drop() {
        held = nil
        generation &+= 1
    }

    /// Gets a token; one that is bound to a key comes with a proof for the request.
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
            credential, .now() + min(CredentialProvider.longestUse, life ?? CredentialProvider.longestUse)
        )
    }

    private func ask(_ proof: TokenRequest.Proof?, _ received: @escaping Received) {
        var demand = demand
        demand.proof = proof
        var request = demand.request(plainText: false)
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

    /// What the agent says to a refused token.
    enum Verdict {
        /// Another token may do.
        case retry
        /// Nothing helps: the upstream's answer stands.
        case pass
        /// The login is over.
        case over(AgentError)
    }

    /// Tells the agent that the upstream has refused a token.
    func report(_ credential: Credential, _ refusal: UpstreamRejection, _ judged: @escaping (Verdict) -> Void)
    {
        if let held, held.credential.answer.value.bytewise == credential.answer.value.bytewise { drop() }
        let body = WireMessage<ReportMembers> {
            $0.token = credential.answer.value
            $0.status = Int64(refusal.status)
            $0.challenge = ReportMembers.fitting(refusal.challenge)
            $0.body = ReportMembers.readable(refusal.body)
            $0.host = refusal.host
            if !demand.scopes.isEmpty { $0.scope = demand.scopes.joined(separator: " ") }
            $0.audience = demand.audience
        }
        var request = AgentRequest(.post, "sessions", demand.session, "report", body: body.json.serialized)
        request.listener = claim
        agent.ask(request) { result in
            switch result {
            case .success(let response):
                let answer = ReportMessage(parsing: response.body)
                judged(answer?.action == .retry ? .retry : .pass)
            case .failure(let error):
                judged(error.code == .loginRequired ? .over(error) : .pass)
            }
        }
        request.wipeBody()
    }
}

/// The answer of an upstream that refused a token.
struct UpstreamRejection {
    var status: Int
    var challenge: String
    /// As much of it as was kept.
    var body: [UInt8]
    /// Host and port.
    var host: String
}
