// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// One request on its way to the upstream, and the response on its way back.
///
/// Only the bytes needed to send the request again are collected. Each side is read as fast as the other side
/// accepts bytes.
///
/// Unchecked: confined to the event loop.
final class ProxiedExchange: UpstreamResponseDelegate, @unchecked Sendable {
    private enum Phase {
        /// Waiting for a token.
        case asking
        case connecting
        /// The request is being sent.
        ///
        /// The response has not begun, or is being forwarded to the client.
        case relaying
        /// The upstream rejected the token.
        ///
        /// The beginning of its response is held back.
        case judging(BufferedResponse)
        case tunnel
        case ended
    }

    let request: ProxiedRequest
    private let rules: ProxyRules
    private let parts: ListenerParts
    private unowned let client: ClientConnection
    private let authority: ArraySlice<UInt8>
    private let writer: BodyWriter
    private var phase = Phase.asking
    private var upstream: UpstreamConnection?
    private var credential: Credential?
    private var kept = ReplayableBody()
    /// Whether the whole request has been read from the client.
    private(set) var hasWholeRequest: Bool
    /// The state of forwarding, or `nil` until it is known that the client gets the upstream's response.
    private var relayed: ForwardingState?
    private var attempts = RecoveryAttempts()
    private(set) var record: AccessRecord

    /// The recovery attempts made so far.
    ///
    /// Each of them is made at most once.
    private struct RecoveryAttempts {
        var hasReported = false
        var hasTakenNonce = false
        var hasReconnected = false
    }

    /// The state of a response that is forwarded to the client.
    private struct ForwardingState {
        let writer: BodyWriter
        let keepsUpstream: Bool
        /// The head and the body so far while nothing has been sent and all can be discarded, then `nil`.
        var unsent: [ByteBuffer]?
    }

    init(
        _ request: ProxiedRequest,
        _ rules: ProxyRules,
        _ parts: ListenerParts,
        from client: ClientConnection,
        at authority: ArraySlice<UInt8>
    ) {
        self.request = request
        self.rules = rules
        self.parts = parts
        self.client = client
        self.authority = authority
        writer = BodyWriter(framing: request.framing)
        hasWholeRequest = request.framing == .none
        record = AccessRecord(request)
    }

    func begin() { getCredential() }

    // MARK: The request

    /// Whether another piece of the request's body can be taken.
    var takesRequest: Bool {
        guard !hasWholeRequest, upstream?.isWritable == true else { return false }
        return if case .relaying = phase { true } else { false }
    }

    func requestWent(on piece: BodyReader.Piece) {
        switch piece {
        case .data(let data):
            record.received += Int64(data.readableBytes)
            kept.add(data)
            writer.write(data) { upstream?.write($0) }
        case .end(let trailers):
            hasWholeRequest = true
            if let end = writer.end(trailers) { upstream?.write(end) }
            if !trailers.isEmpty { kept.discard() }
        }
    }

    /// Sends the bytes written so far.
    func flushRequest() { upstream?.flush() }

    /// Ends the exchange, because the client has closed its connection.
    func clientLeft() {
        if case .ended = phase { return }
        upstream?.close()
        end(as: record.status == 0 ? 499 : record.status)
    }

    /// Ends the exchange, because the client broke a rule.
    ///
    /// The client gets `answer`, unless a part of another response has been sent.
    func clientFailed(_ answer: LocalResponse) {
        if case .ended = phase { return }
        guard !hasAnswered else { return clientLeft() }
        upstream?.close()
        record.refused(with: answer)
        end(as: answer.status)
    }

    /// Continues reading the response, because the client accepts bytes again.
    func clientBecameWritable() { upstream?.pump() }

    /// Forwards bytes of a websocket to the upstream.
    func tunnelTook(_ data: ByteBuffer) {
        record.received += Int64(data.readableBytes)
        upstream?.write(data)
        upstream?.flush()
    }

    /// Whether a part of the response has been sent to the client.
    var hasAnswered: Bool { relayed.map { $0.unsent == nil } ?? false }

    var isTunnel: Bool {
        if case .tunnel = phase { true } else { false }
    }

    /// Whether another piece of a websocket can be taken.
    var takesTunnel: Bool { isTunnel && upstream?.isWritable == true }

    // MARK: Attempts

    private func getCredential() {
        phase = .asking
        parts.coordinator.get { [self] in
            let url = rules.upstream.origin + rules.upstream.prefix[...].text + request.path.text
            return TokenRequest.ProofTarget(
                url: url,
                method: request.method.text,
                nonce: parts.coordinator.nonce
            )
        } _: { [self] result in
            guard case .asking = phase else { return }
            switch result {
            case .success(let credential):
                self.credential = credential
                connect(isFresh: false)
            case .failure(let error): refuse(LocalResponse(error, isForGit: request.isOfGit))
            }
        }
    }

    private func connect(isFresh: Bool) {
        phase = .connecting
        parts.pool?.take(isFresh: isFresh, mayRepeat: request.isIdempotent) { [self] result in
            guard case .connecting = phase else {
                if case .success(let unused) = result { parts.pool?.give(unused) }
                return
            }
            switch result {
            case .success(let connection): send(on: connection)
            case .failure(let fault): refuse(LocalResponse(fault))
            }
        }
    }

    private func send(on connection: UpstreamConnection) {
        guard let credential else { return }
        let head: ByteBuffer
        do throws(ForwardingError) {
            let outgoing = ForwardedRequest(request: request, rules: rules)
            head = try outgoing.head(authorization: credential.authorization, proof: credential.answer.proof)
        } catch {
            parts.pool?.give(connection)
            return refuse(LocalResponse(error))
        }
        upstream = connection
        phase = .relaying
        connection.begin(head, answersHead: request.isHead, for: self)
        guard upstream === connection else { return }
        if kept.bytes.readableBytes > 0 || hasWholeRequest, request.framing != .none {
            if kept.bytes.readableBytes > 0 { writer.write(kept.bytes) { connection.write($0) } }
            if hasWholeRequest, let end = writer.end([]) { connection.write(end) }
            connection.flush()
        }
        client.pump()
        connection.pump()
    }

    /// Sends the request again, with another token or on another connection.
    private func repeatRequest() {
        upstream?.close()
        upstream = nil
        getCredential()
    }

    /// Sends a response of this program.
    ///
    /// Nothing of another response has been sent to the client.
    private func refuse(_ answer: LocalResponse) {
        upstream?.close()
        record.took(answer)
        end(as: answer.status)
        client.answer(answer)
    }

    // MARK: The response

    var takesAnswer: Bool {
        switch phase {
        case .relaying, .tunnel: client.isWritable
        case .judging(let held): !held.isFull
        case .asking, .connecting, .ended: false
        }
    }

    func answerBegan(_ answer: UpstreamResponse) {
        if answer.isInterim {
            if request.isHTTP11 { client.write(outgoing(answer).head(keepsAlive: true)) }
            return client.flush()
        }
        if let nonce = answer.nonce { parts.coordinator.nonce = nonce }
        guard answer.status != 101 else { return openTunnel(answer) }
        guard answer.status == 401, mayJudge else { return relay(answer) }
        let held = BufferedResponse(answer)
        phase = .judging(held)
        held.limitWait(on: parts.agent.loop) { [weak self] in self?.judge($0) }
    }

    func answerWent(on data: ByteBuffer) {
        if case .judging(let held) = phase {
            held.add(data)
            if held.isFull { judge(held) }
            return
        }
        record.sent += Int64(data.readableBytes)
        relayed?.writer.write(data) { send($0) }
    }

    func answerPaused() {
        for piece in relayed?.unsent ?? [] { client.write(piece) }
        relayed?.unsent = nil
        client.flush()
    }

    /// Writes a piece of the upstream's response, or collects it until the next pause.
    private func send(_ piece: ByteBuffer) {
        if hasAnswered { client.write(piece) } else { relayed?.unsent?.append(piece) }
    }

    func answerEnded(_ trailers: [MessageField]) {
        if case .judging(let held) = phase {
            held.end(.whole(trailers: trailers))
            return judge(held)
        }
        finish(trailers)
    }

    private func outgoing(_ answer: UpstreamResponse) -> ForwardedResponse {
        ForwardedResponse(answer: answer, request: request, rules: rules, authority: authority)
    }

    private func relay(_ answer: UpstreamResponse) {
        kept.discard()
        let outgoing = outgoing(answer)
        let framing = outgoing.framing
        // A request that is not complete by now may never be.
        let keepsAlive = client.mayContinue && request.keepsAlive && framing != .untilClose && hasWholeRequest
        client.keepsAlive = keepsAlive
        record.status = answer.status
        relayed = ForwardingState(
            writer: BodyWriter(framing: framing),
            keepsUpstream: answer.keepsAlive,
            unsent: [outgoing.head(keepsAlive: keepsAlive)]
        )
    }

    private func finish(_ trailers: [MessageField]) {
        if let end = relayed?.writer.end(trailers) { send(end) }
        answerPaused()
        if let upstream, hasWholeRequest, relayed?.keepsUpstream == true {
            parts.pool?.give(upstream)
        } else {
            upstream?.close()
        }
        end(as: record.status)
        client.exchangeEnded()
    }

    private func openTunnel(_ answer: UpstreamResponse) {
        guard request.wantsWebSocket, answer.opensWebSocket else {
            return refuse(LocalResponse(.badAnswer("switches to a protocol that was not requested")))
        }
        phase = .tunnel
        record.status = 101
        client.keepsAlive = false
        client.write(outgoing(answer).head(keepsAlive: false))
        client.flush()
        upstream?.becomeTunnel()
        client.pump()
    }

    func tunnelBrought(_ data: ByteBuffer) {
        record.sent += Int64(data.readableBytes)
        client.write(data)
    }

    func upstreamBecameWritable() { client.pump() }

    func upstreamEnded(_ fault: ForwardingError?) {
        switch phase {
        case .asking, .connecting, .ended: return
        case .tunnel:
            upstream?.close()
            end(as: 101)
            return client.exchangeEnded()
        case .judging(let held):
            // The head alone is enough to ask the agent.
            held.end(.broken(fault ?? .badAnswer("is incomplete")))
            return judge(held)
        case .relaying: break
        }
        guard !hasAnswered else {
            // The client has a part of the response. Only closing its connection shows that the rest is
            // missing.
            upstream?.close()
            end(as: record.status)
            return client.abort()
        }
        if fault == nil, mayReconnect {
            attempts.hasReconnected = true
            upstream?.close()
            upstream = nil
            return connect(isFresh: true)
        }
        refuse(
            LocalResponse(
                fault ?? ForwardingError(502, "the upstream closed the connection without a response")
            )
        )
    }

    /// Whether the request can be sent again, as the upstream closed a reused connection without a response.
    private var mayReconnect: Bool {
        guard let upstream, upstream.isReused, !upstream.hasHeard, !attempts.hasReconnected else {
            return false
        }
        return kept.isWhole && request.isIdempotent
    }

    private func end(as status: Int) {
        phase = .ended
        upstream = nil
        kept.discard()
        record.status = status
        parts.report.add(record, of: parts.name)
    }

    // MARK: A rejected token

    private var mayJudge: Bool {
        !attempts.hasReported || credential?.answer.proof != nil && !attempts.hasTakenNonce
    }

    /// Decides how to treat a rejected token.
    ///
    /// The agent knows whether another token helps.
    private func judge(_ held: BufferedResponse) {
        guard let credential, held.stopBuffering() else { return }
        let challenge = held.answer.challenge
        let wantsNonce = Challenges(challenge).value(of: "error", scheme: "DPoP") == "use_dpop_nonce"
        if wantsNonce, credential.answer.proof != nil, held.answer.nonce != nil, !attempts.hasTakenNonce,
            kept.isWhole
        {
            attempts.hasTakenNonce = true
            return repeatRequest()
        }
        guard !attempts.hasReported else { return pass(held) }
        attempts.hasReported = true
        let refusal = UpstreamRejection(
            status: held.answer.status,
            challenge: challenge,
            body: held.body,
            host: parts.place
        )
        parts.coordinator.report(credential, refusal) { [self] verdict in
            guard case .judging(let held) = phase else { return }
            switch verdict {
            case .over(let error): refuse(LocalResponse(error, isForGit: request.isOfGit))
            case .retry where kept.isWhole:
                record.isRepeated = true
                repeatRequest()
            case .retry, .pass: pass(held)
            }
        }
    }

    /// Forwards the upstream's rejection if it is complete, otherwise sends an error.
    private func pass(_ held: BufferedResponse) {
        if case .broken(let fault) = held.ending { return refuse(LocalResponse(fault)) }
        phase = .relaying
        relay(held.answer)
        if held.bytes.readableBytes > 0 { answerWent(on: held.bytes) }
        if case .whole(let trailers) = held.ending { return finish(trailers) }
        answerPaused()
        client.pump()
        upstream?.pump()
    }
}
