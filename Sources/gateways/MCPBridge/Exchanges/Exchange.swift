// SPDX-License-Identifier: MIT

import Text

/// One packet of the client on its way to the server, and the server's responses to it.
struct Exchange: Sendable {
    /// The maximum number of tries to resume a stream of events that delivers nothing.
    private static let maximumFailures = 5
    /// The time that a stream may continue after the last response, so that its connection can be reused: one
    /// second.
    private static let afterlife: Duration = .seconds(1)

    let packet: RPCPacket
    let number: Int
    let bridge: Bridge

    /// Runs the exchange.
    ///
    /// At the end, every request of the packet is answered or abandoned.
    func run() async {
        defer { bridge.table.end(number) }
        // The client may have cancelled its requests before their turn.
        guard packet.requests.isEmpty || !bridge.table.waiting(in: number).isEmpty else { return }
        var failure = RPCFailure(.failed, "the server's response ended before the request was answered")
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
            // Read the body to its end, so that the connection can be reused.
            _ = await reply.bodyPrefix()
            return await wasTaken()
        }
        switch reply.mediaType {
        case "application/json":
            let body = try await reply.collected(within: bridge.budget)
            let answer: RPCPacket
            do {
                answer = try RPCPacket(parsing: body)
            } catch {
                throw RPCFailure(.failed, "the server's response is not a JSON-RPC message")
            }
            // An error about no request is about this one.
            if let stated = RPCFailure.stated(in: answer), !stated.hasID { throw stated.failure }
            await deliver(answer, of: reply)
        case "text/event-stream":
            try await follow(reply)
        default:
            throw RPCFailure(
                .failed,
                "the server responded with status \(reply.status) and neither JSON nor an event stream"
            )
        }
    }

    /// Records that a notification has reached the server.
    private func wasTaken() async {
        guard let message = packet.single, message.method == "notifications/initialized" else { return }
        await bridge.announced(packet)
    }

    /// Reads a stream to its end, and resumes it if it breaks off before all requests are answered.
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

    /// Resumes a stream whose events have identifiers.
    ///
    /// - Returns: the rest of the stream, or `nil` if it is not available and there is no error to report.
    /// - Throws: ``RPCFailure`` as soon as another try would not help, because there is no token or the
    ///   server has no more.
    private func resumed(_ place: inout EventStreamCursor) async throws(RPCFailure) -> ResourceResponse? {
        var latest: RPCFailure?
        while place.failures < Exchange.maximumFailures, !Task.isCancelled {
            try? await Task.sleep(for: place.delay)
            place.hasFailed()
            let request = bridge.listeningRequest(in: await bridge.conversation.session, place)
            do throws(RPCFailure) {
                let reply = try await bridge.requests.send(request)
                if reply.status == 200, reply.mediaType == "text/event-stream" { return reply }
                latest = RPCFailure(ResourceErrorResponse(reply, body: await reply.bodyPrefix()))
                guard reply.status >= 500 else { break }
            } catch {
                latest = error
                guard error.mayPass else { break }
            }
        }
        if let latest, !Task.isCancelled { throw latest }
        return nil
    }

    /// Delivers responses and messages that the server sends unasked, and records what they say about the
    /// session.
    private func deliver(_ answer: RPCPacket, of reply: ResourceResponse) async {
        if let message = answer.single, packet.single?.isOpening == true,
            message.answeredID == packet.single?.requestID, message.members["result"] != nil
        {
            let version = answer.value("result", "protocolVersion", of: message)?.string
            await bridge.conversation.answered(MCPSession(fields: reply.fields, version: version))
        }
        if packet.single?.method == "tools/list", MCPRoutingHeaders.version(of: packet) != nil {
            bridge.parameters.withLock { $0.note(answer) }
        }
        await bridge.deliver(answer)
    }

    /// Cancels the rest of the exchange after ``afterlife``, because all its requests are answered.
    private func endSoon() {
        let (table, number) = (bridge.table, number)
        Task {
            try? await Task.sleep(for: Exchange.afterlife)
            table.cancel(number)
        }
    }
}
