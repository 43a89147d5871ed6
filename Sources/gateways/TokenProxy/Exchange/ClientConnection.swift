// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// A connection of a client, which serves one request after the other.
///
/// The connection reads only as much as the current request can take.
///
/// Unchecked: confined to the event loop.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private enum State {
        /// Nothing of the next request has arrived, or only a part of its head.
        case head
        /// The request is being forwarded to the upstream.
        case exchange(ProxiedExchange, BodyReader)
        /// A request is being answered without an upstream.
        case asking
        /// The last response is written.
        ///
        /// Input is discarded until the client has read the response.
        case lingering
        case closed
    }

    private static let maximumHeadLength = 32_768
    /// The maximum time from the first byte of a head to its last, so that a slow client does not hold a
    /// connection.
    private static let headTime = TimeAmount.seconds(10)
    private static let idleTime = TimeAmount.seconds(75)
    private static let lingerTime = TimeAmount.seconds(2)

    private let listener: ServedListener
    private var state = State.head
    private var channel: (any Channel)?
    private var input = ByteBuffer()
    private var search = HeadSearch(longest: ClientConnection.maximumHeadLength)
    private let intake = ReentrancyGuard()
    /// The deadline for the client, or `nil` while the client waits for this program.
    private var deadline: NIODeadline?
    /// Whether the client may send another request after this one.
    var keepsAlive = true

    init(listener: ServedListener) {
        self.listener = listener
    }

    var isWritable: Bool { channel?.isWritable == true }

    /// Whether the listener still serves new requests on open connections.
    var mayContinue: Bool { !listener.isEnding }

    /// Whether no request is active.
    var isIdle: Bool {
        if case .head = state { true } else { false }
    }

    // MARK: Used by the exchange

    func write(_ data: ByteBuffer) { channel?.write(data, promise: nil) }

    func flush() { channel?.flush() }

    /// Sends a response that does not come from the upstream.
    func answer(_ answer: LocalResponse) {
        guard channel != nil else { return }
        var isWhole = true
        var isHead = false
        if case .exchange(let exchange, let reader) = state {
            isWhole = reader.isAtEnd || exchange.request.framing == .none
            isHead = exchange.request.isHead
            keepsAlive = exchange.request.keepsAlive && isWhole && mayContinue
        }
        send(answer, isHead: isHead)
    }

    /// Sends a response of this program and ends the current request.
    private func send(_ answer: LocalResponse, isHead: Bool) {
        write(answer.bytes(withoutBody: isHead, keepsAlive: keepsAlive && mayContinue))
        flush()
        exchangeEnded()
    }

    /// Ends the current request: reads the next one, or ends the connection.
    func exchangeEnded() {
        guard channel != nil else { return }
        if case .closed = state { return }
        guard keepsAlive, mayContinue else { return linger() }
        state = .head
        deadline = .now() + ClientConnection.idleTime
        pump()
    }

    /// Closes the connection in the middle of a response, so that the client sees that it is incomplete.
    func abort() {
        let last = state
        state = .closed
        if case .exchange(let exchange, _) = last { exchange.clientLeft() }
        channel?.close(promise: nil)
    }

    /// Closes an idle connection, or makes the current request the last one.
    func endSoon() {
        if isIdle { abort() } else { keepsAlive = false }
    }

    /// Ends a connection whose deadline has passed.
    func sweep(at now: NIODeadline) {
        guard let deadline, deadline < now else { return }
        if case .head = state, input.readableBytes > 0 {
            self.deadline = nil
            return refuse(ForwardingError(408, "timed out waiting for the request"))
        }
        abort()
    }

    /// Processes the input as far as possible, then reads more.
    func pump() {
        intake.run {
            do throws(ForwardingError) {
                while try step() {}
            } catch {
                refuse(error)
            }
        }
    }

    /// Takes one step.
    ///
    /// - Returns: `false` if there is nothing to do until something happens.
    private func step() throws(ForwardingError) -> Bool {
        switch state {
        case .closed, .asking: return false
        case .lingering:
            input = ByteBuffer()
            channel?.read()
            return false
        case .head: return try takeHead()
        case .exchange(let exchange, let reader): return try takeBody(exchange, reader)
        }
    }

    private func takeHead() throws(ForwardingError) -> Bool {
        let isFirst = input.readableBytes == 0
        guard let bytes = try search.take(from: &input) else {
            if !isFirst, deadline == nil || isDeadlineOfRest { deadline = .now() + ClientConnection.headTime }
            isDeadlineOfRest = isFirst
            readMore()
            return false
        }
        isDeadlineOfRest = true
        deadline = nil
        let head: MessageHead
        do throws(HTTPHeadError) { head = try MessageHead(bytes) } catch { throw ForwardingError(error) }
        do throws(ForwardingError) {
            try serve(ProxiedRequest(head))
        } catch {
            refuse(error, HTTPSyntax.requestLine(head.startLine).map { AccessRecord($0) })
            return false
        }
        return true
    }

    /// Whether ``deadline`` is for a client that has sent nothing of a request yet.
    private var isDeadlineOfRest = true

    private func takeBody(_ exchange: ProxiedExchange, _ reader: BodyReader) throws(ForwardingError) -> Bool {
        if exchange.isTunnel { return takeTunnel(exchange) }
        guard exchange.takesRequest else {
            exchange.flushRequest()
            // After a complete request, reading continues: stopping and starting again would cost two system
            // calls.
            if exchange.hasWholeRequest, input.readableBytes < ClientConnection.maximumHeadLength {
                readMore()
            }
            return false
        }
        var reader = reader
        let piece = try reader.next(&input)
        state = .exchange(exchange, reader)
        guard let piece else {
            exchange.flushRequest()
            readMore()
            return false
        }
        exchange.requestWent(on: piece)
        if reader.isAtEnd { exchange.flushRequest() }
        return true
    }

    private func takeTunnel(_ exchange: ProxiedExchange) -> Bool {
        guard exchange.takesTunnel else { return false }
        guard let data = input.readSlice(length: input.readableBytes), data.readableBytes > 0 else {
            readMore()
            return false
        }
        exchange.tunnelTook(data)
        return true
    }

    private func readMore() {
        if input.readableBytes == 0 { input = ByteBuffer() } else { input.discardReadBytes() }
        channel?.read()
    }

    // MARK: Requests

    private func serve(_ request: ProxiedRequest) throws(ForwardingError) {
        keepsAlive = request.keepsAlive
        try listener.check(request)
        let parts = listener.parts
        switch parts.table.service {
        case .proxy(let rules):
            try rules.check(request)
            let authority = request.host ?? listener.authority
            let exchange = ProxiedExchange(request, rules, parts, from: self, at: authority)
            state = .exchange(exchange, BodyReader(request.framing))
            exchange.begin()
        case .endpoint(let kind, let rules):
            try serveHere(request, parts) { answered in
                CloudCredentialService(parts, kind, rules).answer(request, answered)
            }
        case .metrics:
            try serveHere(request, parts) { answered in
                guard request.path.spells("/metrics") else {
                    return answered(LocalResponse(ForwardingError(404, "the metrics are at /metrics")))
                }
                answered(LocalResponse(200, "text/plain; version=0.0.4", Array(parts.report.metrics.utf8)))
            }
        }
    }

    /// Serves a request that is not forwarded to an upstream.
    private func serveHere(
        _ request: ProxiedRequest,
        _ parts: ListenerParts,
        _ serve: (@escaping (LocalResponse) -> Void) -> Void
    ) throws(ForwardingError) {
        guard request.framing == .none || request.framing == .length(0) else {
            throw ForwardingError(413, "a request body is not allowed here")
        }
        state = .asking
        let startedAt = NIODeadline.now()
        serve { [self] answer in
            var record = AccessRecord(request, startedAt: startedAt)
            record.took(answer)
            parts.report.add(record, of: parts.name)
            guard case .asking = state else { return }
            send(answer, isHead: request.isHead)
        }
    }

    /// Answers a request that is not served, and ends the connection.
    ///
    /// Input after such a request may not be what it seems to be.
    private func refuse(_ fault: ForwardingError, _ record: AccessRecord? = nil) {
        let answer = LocalResponse(fault)
        var isHead = record?.isHead == true
        var line: String? = "refused \(fault.status)"
        if case .exchange(let exchange, _) = state {
            exchange.clientFailed(answer)
            // A second head would be read as a part of the response body.
            guard !exchange.hasAnswered else { return abort() }
            isHead = exchange.request.isHead
            line = nil
        } else if var record {
            record.refused(with: answer)
            line = record.line(at: .now())
        }
        listener.parts.report.recordRefusal(fault.status, of: listener.parts.name, line)
        keepsAlive = false
        state = .asking
        send(answer, isHead: isHead)
    }

    /// Closes the sending side and waits shortly for the client to read the response (RFC 9112 §9.6).
    private func linger() {
        guard let channel else { return }
        state = .lingering
        deadline = .now() + ClientConnection.lingerTime
        channel.close(mode: .output, promise: nil)
        pump()
    }

    // MARK: Channel events

    func channelActive(context: ChannelHandlerContext) {
        channel = context.channel
        deadline = .now() + ClientConnection.headTime
        listener.add(self)
        pump()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { pump() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if case .exchange(let exchange, _) = state, context.channel.isWritable {
            exchange.clientBecameWritable()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        channel = nil
        let last = state
        state = .closed
        if case .exchange(let exchange, _) = last { exchange.clientLeft() }
        listener.remove(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
