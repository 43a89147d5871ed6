// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import ForwardProxy
import NIOCore
import Synchronization
import Text

/// Carries messages between a client at standard input and output and a server that speaks Streamable HTTP
/// (Model Context Protocol, Transports).
///
/// The client logs in nowhere and sees no token. It is told in place of an answer what a person has to do.
package final class Bridge: Sendable {
    /// Longest wait until the server has taken a notification.
    private static let notificationLimit: Duration = .seconds(30)
    /// Longest wait for answers after the end of the input.
    package static let drainLimit: Duration = .seconds(30)
    /// Longest wait until the server has taken leave.
    private static let leaveLimit: Duration = .seconds(1)

    let conversation = MCPSessionState()
    let table = ExchangeTable()
    let budget: ByteBudget
    /// What lists of tools have said about their calls.
    let parameters = Mutex(ParameterFields())
    let requests: AuthorizedRequests
    private let transport: ResourceTransport
    private let input: LineInput
    private let output: LineOutput
    private let backlog: Backlog
    private let drainLimit: Duration

    /// - Parameters:
    ///   - source: the session that gives the tokens.
    ///   - authorities: a file with certificates of authorities to trust beside the system's.
    ///   - variables: the proxies of the environment.
    ///   - descriptors: where the client's messages come from, and where the server's go.
    ///   - drainLimit: longest wait for answers after the end of the input.
    ///   - messageLimit: most bytes of one message, either way.
    ///   - backlogLimit: bytes that may wait for the server to answer an opening, before no more is read.
    ///   - group: the event loops to work on.
    /// - Throws: ``AgentError`` with the code `badRequest` if the file cannot be used.
    package init(
        _ source: SessionSource,
        authorities: String? = nil,
        variables: ProxyVariables = .none,
        descriptors: (input: Int32, output: Int32),
        drainLimit: Duration = Bridge.drainLimit,
        messageLimit: Int = BridgeLimits.message,
        backlogLimit: Int = BridgeLimits.message,
        on group: any EventLoopGroup
    ) throws(AgentError) {
        transport = try ResourceTransport(
            to: source.address,
            authorities: authorities,
            variables: variables,
            on: group
        )
        requests = AuthorizedRequests(transport, ResourceTokens(source), at: source.address.server.place)
        input = LineInput(descriptors.input)
        output = LineOutput(descriptors.output)
        budget = ByteBudget(message: messageLimit)
        backlog = Backlog(limit: backlogLimit)
        self.drainLimit = drainLimit
    }

    /// Works until the input ends and the answers still expected have come, or half a minute has passed.
    package func run() async {
        let sending = Task { await send() }
        await read()
        await backlog.end()
        await Bridge.limited(to: drainLimit) { [table] in
            await sending.value
            await table.untilSettled()
        }
        // Nobody waits for the rest any more.
        sending.cancel()
        table.abandonAll()
    }

    /// Takes leave of the server: its session is over.
    package func end() async {
        await conversation.end()
        let session = await conversation.session
        if session.id != nil {
            let request = ResourceRequest(method: .delete, fields: session.fields)
            await Bridge.limited(to: Bridge.leaveLimit) { [requests] in
                _ = try? await requests.send(request).beginning()
            }
        }
        await transport.shutDown()
    }

    // MARK: From the client

    /// Takes what the client says; never waits for the server, as long as the backlog has room.
    private func read() async {
        var lines = MessageLines(longest: budget.message)
        var isWatched = false
        while let bytes = await input.read() {
            lines.append(bytes)
            while let line = lines.next() { await take(line) }
            guard await backlog.isFull else { continue }
            if !isWatched {
                isWatched = true
                watchForEnd()
            }
            await backlog.room()
        }
        if let line = lines.last() { await take(line) }
    }

    /// Has the input read to its end as soon as the client has gone, which is not seen where nothing is read.
    ///
    /// No more than what a pipe or a socket holds can still come then.
    private func watchForEnd() {
        Task { [input, backlog] in
            await input.untilLeft()
            await backlog.removeLimit()
        }
    }

    private func take(_ line: MessageLines.Line) async {
        switch line {
        case .tooLong:
            let limit = "\(budget.message >> 20) MiB"
            await refuse(nil, RPCFailure(.notAMessage, "the line is longer than \(limit)"))
        case .message(let bytes):
            do throws(RPCFailure) {
                await take(try RPCPacket(parsing: bytes))
            } catch {
                await refuse(nil, error)
            }
        }
    }

    private func take(_ packet: RPCPacket) async {
        if let message = packet.single, message.method == "notifications/cancelled" {
            return await cancel(packet, message)
        }
        guard !packet.requests.isEmpty else { return await backlog.add(Backlog.Entry(packet: packet)) }
        guard let number = table.begin(packet.requests) else {
            let failure = RPCFailure(.failed, "more than \(BridgeLimits.exchanges) requests are under way")
            for id in packet.requests { await refuse(id, failure) }
            return
        }
        await backlog.add(Backlog.Entry(packet: packet, number: number))
    }

    /// The client wants no answer to a request any more, which may be the one that all others wait for.
    ///
    /// Until 2025-11-25 the server is told, and a closed connection means nothing; from 2026-07-28 on it is the other way
    /// round.
    private func cancel(_ packet: RPCPacket, _ message: RPCMessage) async {
        let id = RPCIdentifier(packet.value("params", "requestId", of: message))
        let owner = id.flatMap(table.owner)
        let abandon = { [table] in
            if let id, let owner { table.abandon(id, in: owner) }
        }
        guard await conversation.session != .notBegun, let number = table.begin([]) else { return abandon() }
        let exchange = Exchange(packet: packet, number: number, bridge: self)
        Task {
            await Bridge.limited(to: Bridge.notificationLimit) { await exchange.run() }
            abandon()
        }
    }

    /// Sends what the client has said, in its order.
    private func send() async {
        while !Task.isCancelled, let entry = await backlog.next() { await send(entry) }
    }

    private func send(_ entry: Backlog.Entry) async {
        let packet = entry.packet
        guard let number = entry.number ?? table.begin([]) else { return }
        let exchange = Exchange(packet: packet, number: number, bridge: self)
        let task = Task { await exchange.run() }
        table.attach(task, to: number)
        // What comes after an opening may only be sent in its session, and notifications keep their order.
        if packet.single?.isOpening == true {
            await task.value
        } else if packet.requests.isEmpty, packet.messages.contains(where: { $0.kind == .notification }) {
            await Bridge.limited(to: Bridge.notificationLimit) { await task.value }
        }
    }

    private func refuse(_ id: RPCIdentifier?, _ failure: RPCFailure) async {
        await output.write(failure.line(to: id))
    }

    // MARK: To the server

    /// The request that brings a packet to the server.
    func request(_ packet: RPCPacket, in session: MCPSession) -> ResourceRequest {
        var fields = [
            (name: "accept", value: "application/json, text/event-stream"),
            (name: "content-type", value: "application/json"),
        ]
        if let version = RoutingFields.version(of: packet) {
            fields += RoutingFields.fields(for: packet, version: version)
            fields += parameters.withLock { $0.fields(for: packet) }
        } else {
            fields += session.fields
        }
        return ResourceRequest(method: .post, fields: fields, body: packet.bytes)
    }

    /// The request for what the server says by itself, or for the rest of a stream.
    func listeningRequest(in session: MCPSession, _ place: EventStreamCursor) -> ResourceRequest {
        let fields = [(name: "accept", value: "text/event-stream")] + session.fields + place.fields
        return ResourceRequest(method: .get, fields: fields)
    }

    // MARK: To the client

    /// Tells the client what the server says; an answer that nobody waits for is dropped.
    func deliver(_ packet: RPCPacket) async {
        let kept = packet.messages.filter { message in
            guard case .response(let id) = message.kind else { return true }
            return id.map(table.settle) ?? false
        }
        if !kept.isEmpty { await output.write(packet.line(of: kept)) }
        table.told(kept.count { $0.method == nil })
    }

    /// Tells the client that some of its requests have failed.
    func fail(_ requests: [RPCIdentifier], _ failure: RPCFailure) async {
        for id in requests where table.settle(id) {
            await refuse(id, failure)
            table.told(1)
        }
    }

    /// Waits for `work`, but not longer than `limit`, after which it is cancelled and left alone.
    static func limited(to limit: Duration, _ work: @escaping @Sendable () async -> Void) async {
        let (end, mark) = AsyncStream.makeStream(of: Void.self)
        let job = Task {
            await work()
            mark.finish()
        }
        let alarm = Task {
            try? await Task.sleep(for: limit)
            mark.finish()
        }
        for await _ in end {}
        job.cancel()
        alarm.cancel()
    }
}
