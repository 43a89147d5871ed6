// SPDX-License-Identifier: MIT

extension Bridge {
    /// Records that the client is ready, and starts to listen for messages that the server sends unasked.
    func announced(_ announcement: RPCPacket) async {
        await conversation.announced(announcement) { [weak self] session in await self?.listen(in: session) }
    }

    /// Returns the session that replaces `stale`, which the server has ended.
    func renewed(after stale: MCPSession) async throws(RPCFailure) -> MCPSession {
        try await conversation.renewed(
            after: stale,
            { [self] opening in await begun(opening, like: stale) },
            { [weak self] session in await self?.listen(in: session) }
        )
    }

    /// Begins a session with the client's own messages.
    ///
    /// The client does not get the response, because it has had one.
    private func begun(
        _ opening: MCPSessionState.OpeningMessages,
        like former: MCPSession
    ) async -> Result<MCPSession, RPCFailure> {
        do throws(RPCFailure) {
            let session = try await answer(to: opening.request)
            // The client uses the negotiated version and cannot be told of another one.
            guard session.version == former.version else {
                throw RPCFailure(.failed, "the server ended the session and now uses another version")
            }
            guard let announcement = opening.announcement else { return .success(session) }
            let reply = try await requests.send(request(announcement, in: session))
            if let rejection = await reply.rejection { throw RPCFailure(rejection) }
            _ = await reply.bodyPrefix()
            return .success(session)
        } catch {
            return .failure(error)
        }
    }

    private func answer(to opening: RPCPacket) async throws(RPCFailure) -> MCPSession {
        let reply = try await requests.send(request(opening, in: .notBegun))
        if let rejection = await reply.rejection { throw RPCFailure(rejection) }
        var version: String?
        let read = { (answer: RPCPacket) -> EventStream.ReadDecision in
            guard let message = answer.single, message.answeredID == opening.single?.requestID,
                message.members["result"] != nil
            else { return .more }
            version = answer.value("result", "protocolVersion", of: message)?.string
            return .enough
        }
        if reply.mediaType == "text/event-stream" {
            var place = EventStreamCursor()
            try await EventStream.read(reply, at: &place, budget) { packet async throws(RPCFailure) in
                read(packet)
            }
        } else {
            let body = try await reply.collected(within: budget)
            _ = (try? RPCPacket(parsing: body)).map(read)
        }
        guard let version else {
            throw RPCFailure(.failed, "the server ended the session and does not start a new one")
        }
        return MCPSession(fields: reply.fields, version: version)
    }

    /// Listens for messages that the server sends unasked, while the server supports that.
    private func listen(in session: MCPSession) async {
        var place = EventStreamCursor()
        while !Task.isCancelled {
            let outages = requests.outage.endings
            do throws(RPCFailure) {
                let reply = try await requests.send(listeningRequest(in: session, place))
                let isStream = reply.status == 200 && reply.mediaType == "text/event-stream"
                // 405: the server sends nothing unasked. Any other client error is permanent too.
                guard isStream || reply.status == 429 || reply.status >= 500 else { return }
                place.hasFailed()
                if isStream {
                    try await EventStream.read(reply, at: &place, budget) { packet async throws(RPCFailure) in
                        await deliver(packet)
                        return .more
                    }
                    place.hasEnded()
                }
                try? await Task.sleep(for: place.delay)
            } catch {
                place.hasFailed()
                // If there was no token, another request that obtains one shows that it is time to try again.
                await LimitedWait.wait(for: place.delay) { [requests] in
                    await requests.outage.ended(after: outages)
                }
            }
        }
    }
}
