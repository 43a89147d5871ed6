// SPDX-License-Identifier: MIT

extension Bridge {
    /// The client is ready: from now on the server may speak by itself.
    func announced(_ announcement: RPCPacket) async {
        await conversation.announced(announcement) { [weak self] session in await self?.listen(in: session) }
    }

    /// The session to go on with where the server has ended `stale`.
    func renewed(after stale: MCPSession) async throws(RPCFailure) -> MCPSession {
        try await conversation.renewed(
            after: stale,
            { [self] opening in await begun(opening, like: stale) },
            { [weak self] session in await self?.listen(in: session) }
        )
    }

    /// Begins a session with the client's own messages; the answer stays here, as the client has had one.
    private func begun(
        _ opening: MCPSessionState.Opening,
        like former: MCPSession
    ) async -> Result<MCPSession, RPCFailure> {
        do throws(RPCFailure) {
            let session = try await answer(to: opening.request)
            // The client speaks the version that was agreed on, and cannot be told of another one.
            guard session.version == former.version else {
                throw RPCFailure(.failed, "the server ended the session and now speaks another version")
            }
            guard let announcement = opening.announcement else { return .success(session) }
            let reply = try await requests.send(request(announcement, in: session))
            if let rejection = await reply.rejection { throw RPCFailure(rejection) }
            _ = await reply.beginning()
            return .success(session)
        } catch {
            return .failure(error)
        }
    }

    private func answer(to opening: RPCPacket) async throws(RPCFailure) -> MCPSession {
        let reply = try await requests.send(request(opening, in: .notBegun))
        if let rejection = await reply.rejection { throw RPCFailure(rejection) }
        var version: String?
        let read = { (answer: RPCPacket) -> EventStream.Wish in
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
            throw RPCFailure(.failed, "the server ended the session and begins no other one")
        }
        return MCPSession(fields: reply.fields, version: version)
    }

    /// Hears what the server says by itself, as long as it offers that.
    private func listen(in session: MCPSession) async {
        var place = EventStreamCursor()
        while !Task.isCancelled {
            let outages = requests.outage.endings
            do throws(RPCFailure) {
                let reply = try await requests.send(listeningRequest(in: session, place))
                let isStream = reply.status == 200 && reply.mediaType == "text/event-stream"
                // 405: it says nothing by itself. Anything else that is not the server's trouble will not change either.
                guard isStream || reply.status == 429 || reply.status >= 500 else { return }
                place.hasFailed()
                if isStream {
                    try await EventStream.read(reply, at: &place, budget) { packet async throws(RPCFailure) in
                        await deliver(packet)
                        return .more
                    }
                    place.hasEnded()
                }
                try? await Task.sleep(for: place.pause)
            } catch {
                place.hasFailed()
                // Where there was no token, another request that gets one shows that it is time.
                await Bridge.limited(to: place.pause) { [requests] in
                    await requests.outage.ended(after: outages)
                }
            }
        }
    }
}
