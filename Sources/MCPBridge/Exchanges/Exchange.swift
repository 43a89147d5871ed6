// SPDX-License-Identifier: MIT

import Text

/// The way of one packet of the client to the server, and of what the server says to it.
struct Exchange: Sendable {
    /// Tries to come back to a stream of events that brings nothing: five.
    private static let mostFailures = 5
    /// How long a stream may go on after the last answer, so that its connection serves the next request: a second.
    private static let afterlife: Duration = .seconds(1)

    let packet: RPCPacket
    let number: Int
    let bridge: Bridge

    /// Carries it out to its end; every request in it has an answer then, or was given up.
    func run() async {
        defer { bridge.table.end(number) }
        // The client may have given its requests up before their turn.
        guard packet.requests.isEmpty || !bridge.table.waiting(in: number).isEmpty else { return }
        var failure = RPCFailure(.failed, "the server's answer ended without an answer to the request")
        do throws(RPCFailure) {
            try await carryOut()
        } catch {
            failure = error
        }
        await bridge.fail(bridge.table.waiting(in: number), failure)
    }

    private func carryOut() async throws(RPCFailure) {
        if packet.single?.isOpening == true { await bridge.conversation.begin(packet) }
        var session = await bridge.conversation.session
        var reply = try await send(in: session)
        var rejection = await reply.rejection
        if let stated = rejection, stated.endsSession, session.id != nil, !packet.requests.isEmpty {
            session = try await bridge.renewed(after: session)
            reply = try await send(in: session)
            rejection = await reply.rejection
        }
        if let rejection { throw RPCFailure(rejection) }
        try await take(reply)
    }

    private func send(in session: MCPSession) async throws(RPCFailure) -> ResourceResponse {
        try await bridge.requests.send(bridge.request(packet, in: session))
    }

    private func take(_ reply: ResourceResponse) async throws(RPCFailure) {
        guard !packet.requests.isEmpty else {
            // Read to its end, the connection serves the next request.
            _ = await reply.beginning()
            return await wasTaken()
        }
        switch reply.mediaType {
        case "application/json":
            let body = try await reply.collected(within: bridge.budget)
            let answer: RPCPacket
            do {
                answer = try RPCPacket(parsing: body)
            } catch {
                throw RPCFailure(.failed, "the server's answer is no JSON-RPC message")
            }
            await deliver(answer, of: reply)
        case "text/event-stream":
            try await follow(reply)
        default:
            throw RPCFailure(
                .failed,
                "the server answered with status \(reply.status) and neither JSON nor a stream of events"
            )
        }
    }

    /// A notification has reached the server.
    private func wasTaken() async {
        guard let message = packet.single, message.method == "notifications/initialized" else { return }
        await bridge.announced(packet)
    }

    /// Reads the stream to its end, and goes on with it where it breaks off before all requests are answered.
    private func follow(_ first: ResourceResponse) async throws(RPCFailure) {
        var place = EventStreamCursor()
        var reply = first
        var isEnding = false
        while true {
            try await EventStream.read(reply, at: &place, bridge.budget) { message async throws(RPCFailure) in
                await deliver(message, of: first)
                if !isEnding, bridge.table.waiting(in: number).isEmpty {
                    isEnding = true
                    endSoon()
                }
                return .more
            }
            guard !bridge.table.waiting(in: number).isEmpty, place.lastID != nil else { return }
            guard let next = try await resumed(&place) else { return }
            reply = next
        }
    }

    /// The rest of a stream whose events have identifiers; `nil`: it is not to be had, and nothing is to be said of that.
    ///
    /// - Throws: ``RPCFailure`` as soon as another try would not help: there is no token, or the server has no more.
    private func resumed(_ place: inout EventStreamCursor) async throws(RPCFailure) -> ResourceResponse? {
        var latest: RPCFailure?
        while place.failures < Exchange.mostFailures, !Task.isCancelled {
            try? await Task.sleep(for: place.pause)
            place.hasFailed()
            let request = bridge.listeningRequest(in: await bridge.conversation.session, place)
            do throws(RPCFailure) {
                let reply = try await bridge.requests.send(request)
                if reply.status == 200, reply.mediaType == "text/event-stream" { return reply }
                latest = RPCFailure(ResourceRejection(reply, body: await reply.beginning()))
                guard reply.status >= 500 else { break }
            } catch {
                latest = error
                guard error.mayPass else { break }
            }
        }
        if let latest, !Task.isCancelled { throw latest }
        return nil
    }

    /// Hands on what the client waits for, and what the server says by itself.
    private func deliver(_ answer: RPCPacket, of reply: ResourceResponse) async {
        if let message = answer.single, packet.single?.isOpening == true,
            message.answeredID == packet.single?.requestID, message.members["result"] != nil
        {
            let version = answer.value("result", "protocolVersion", of: message)?.string
            await bridge.conversation.answered(MCPSession(fields: reply.fields, version: version))
        }
        if packet.single?.method == "tools/list", RoutingFields.version(of: packet) != nil {
            bridge.parameters.withLock { $0.note(answer) }
        }
        await bridge.deliver(answer)
    }

    /// Ends what is left of the exchange, which has served its purpose.
    private func endSoon() {
        let (table, number) = (bridge.table, number)
        Task {
            try? await Task.sleep(for: Exchange.afterlife)
            table.cancel(number)
        }
    }
}
