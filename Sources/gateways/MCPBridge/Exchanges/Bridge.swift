// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import NIOCore
import Synchronization
import Text

/// A bridge between an MCP client on standard input and output and a server that uses Streamable HTTP (Model
/// Context Protocol, Transports).
///
/// The client does not log in and sees no token. If a user must act, the client gets an error with the
/// remedy.
///
/// - Entry points: ``run()``, then ``end()``.
/// - May not: show a token to the client, follow redirects, or repeat a request that the server may have
///   processed.
/// - Runs on: tasks of the concurrency runtime. Blocking calls run on separate threads (``BlockingWork``).
package final class Bridge: Sendable {
    /// The maximum time for the server to accept a notification before the next message is sent: 30 seconds.
    private static let notificationLimit: Duration = .seconds(30)
    /// The maximum time for pending responses after the end of the input: 30 seconds.
    package static let drainLimit: Duration = .seconds(30)
    /// The maximum time for the server to end its session: one second.
    private static let leaveLimit: Duration = .seconds(1)

    let conversation = MCPSessionState()
    let table = ExchangeTable()
    let budget: ByteBudget
    /// The tool parameters to repeat in fields, learned from lists of tools.
    let parameters = Mutex(MCPParameterHeaders())
    let requests: AuthorizedRequests
    private let transport: ResourceTransport
    private let input: LineInput
    private let output: LineOutput
    private let backlog: Backlog
    private let drainLimit: Duration

    /// Creates a bridge to the server of `source`.
    ///
    /// - Parameters:
    ///   - source: the session that provides the tokens.
    ///   - authorities: a file with CA certificates to trust in addition to the system's.
    ///   - proxy: the forward proxy, or `nil` for direct connections.
    ///   - descriptors: the file descriptors of the client's messages and of the server's.
    ///   - drainLimit: the maximum time for pending responses after the end of the input.
    ///   - messageLimit: the maximum size of a message in either direction, in bytes.
    ///   - backlogLimit: the number of bytes waiting for the response to an opening at which reading pauses.
    ///   - group: the event loops to use.
    /// - Throws: ``AgentError`` with the code `badRequest` if the file cannot be used.
    package init(
        _ source: ResourceSession,
        authorities: String? = nil,
        proxy: ResourceProxy? = nil,
        descriptors: (input: Int32, output: Int32),
        drainLimit: Duration = Bridge.drainLimit,
        messageLimit: Int = BridgeLimits.message,
        backlogLimit: Int = BridgeLimits.message,
        on group: any EventLoopGroup
    ) throws(AgentError) {
        transport = try ResourceTransport(
            to: source.address,
            authorities: authorities,
            proxy: proxy,
            on: group
        )
        requests = AuthorizedRequests(transport, ResourceTokenSource(source), at: source.address.server.place)
        input = LineInput(descriptors.input)
        output = LineOutput(descriptors.output)
        budget = ByteBudget(message: messageLimit)
        backlog = Backlog(limit: backlogLimit)
        self.drainLimit = drainLimit
    }

    /// Runs until the input ends and the pending responses have arrived, but at most `drainLimit` after the
    /// end of the input.
    package func run() async {
        let sending = Task { await send() }
        await read()
        await backlog.end()
        await LimitedWait.wait(for: drainLimit) { [table] in
            await sending.value
            await table.waitUntilSettled()
        }
        // The client does not wait for the remaining responses.
        sending.cancel()
        table.abandonAll()
    }

    /// Ends the server's session and closes all connections.
    package func end() async {
        await conversation.end()
        let session = await conversation.session
        if session.id != nil {
            let request = ResourceRequest(method: .delete, fields: session.fields)
            await LimitedWait.wait(for: Bridge.leaveLimit) { [requests] in
                _ = try? await requests.send(request).bodyPrefix()
            }
        }
        await transport.shutDown()
    }

    // MARK: From the client

    /// Reads the client's messages.
    ///
    /// Waits for the server only when the backlog is full.
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

    /// Removes the limit of the backlog as soon as the client exits, which is not noticed while nothing is
    /// read.
    ///
    /// After the exit, only the bytes buffered in a pipe or socket can still arrive.
    private func watchForEnd() {
        Task { [input, backlog] in
            await input.waitUntilLeft()
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
            let failure = RPCFailure(.failed, "more than \(BridgeLimits.exchanges) requests in flight")
            for id in packet.requests { await refuse(id, failure) }
            return
        }
        await backlog.add(Backlog.Entry(packet: packet, number: number))
    }

    /// Cancels a request on behalf of the client.
    ///
    /// It may be the opening that all others wait for.
    ///
    /// Up to protocol version 2025-11-25 the server is notified, and a closed connection means nothing. From
    /// 2026-07-28 on, closing the connection cancels the request and the notification means nothing.
    private func cancel(_ packet: RPCPacket, _ message: RPCMessage) async {
        let id = RPCIdentifier(packet.value("params", "requestId", of: message))
        let owner = id.flatMap(table.owner)
        let abandon = { [table] in
            if let id, let owner { table.abandon(id, in: owner) }
        }
        guard await conversation.session != .notBegun, let number = table.begin([]) else { return abandon() }
        let exchange = Exchange(packet: packet, number: number, bridge: self)
        Task {
            await LimitedWait.wait(for: Bridge.notificationLimit) { await exchange.run() }
            abandon()
        }
    }

    /// Sends the client's messages in their order.
    private func send() async {
        while !Task.isCancelled, let entry = await backlog.next() { await send(entry) }
    }

    private func send(_ entry: Backlog.Entry) async {
        let packet = entry.packet
        guard let number = entry.number ?? table.begin([]) else { return }
        let exchange = Exchange(packet: packet, number: number, bridge: self)
        let task = Task { await exchange.run() }
        table.attach(task, to: number)
        // Messages after an opening may only be sent in its session, and notifications keep their order.
        if packet.single?.isOpening == true {
            await task.value
        } else if packet.requests.isEmpty, packet.messages.contains(where: { $0.kind == .notification }) {
            await LimitedWait.wait(for: Bridge.notificationLimit) { await task.value }
        }
    }

    private func refuse(_ id: RPCIdentifier?, _ failure: RPCFailure) async {
        await output.write(failure.line(to: id))
    }

    // MARK: To the server

    /// Returns the request that sends a packet to the server.
    func request(_ packet: RPCPacket, in session: MCPSession) -> ResourceRequest {
        var fields = [
            (name: "accept", value: "application/json, text/event-stream"),
            (name: "content-type", value: "application/json"),
        ]
        if let version = MCPRoutingHeaders.version(of: packet) {
            fields += MCPRoutingHeaders.fields(for: packet, version: version)
            fields += parameters.withLock { $0.fields(for: packet) }
        } else {
            fields += session.fields
        }
        return ResourceRequest(method: .post, fields: fields, body: packet.bytes)
    }

    /// Returns the request for messages that the server sends unasked, or for the rest of a stream.
    func listeningRequest(in session: MCPSession, _ place: EventStreamCursor) -> ResourceRequest {
        let fields = [(name: "accept", value: "text/event-stream")] + session.fields + place.fields
        return ResourceRequest(method: .get, fields: fields)
    }

    // MARK: To the client

    /// Sends the server's messages to the client, except responses to requests that are no longer pending.
    func deliver(_ packet: RPCPacket) async {
        let kept = packet.messages.filter { message in
            guard case .response(let id) = message.kind else { return true }
            return id.map(table.settle) ?? false
        }
        if !kept.isEmpty { await output.write(packet.line(of: kept)) }
        table.told(kept.count { $0.method == nil })
    }

    /// Sends the client an error for each of `requests` that is still pending.
    func fail(_ requests: [RPCIdentifier], _ failure: RPCFailure) async {
        for id in requests where table.settle(id) {
            await refuse(id, failure)
            table.told(1)
        }
    }
}
