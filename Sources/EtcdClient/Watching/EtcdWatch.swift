// SPDX-License-Identifier: MIT

import Text

/// What a watch tells.
package enum EtcdWatchEvent: Equatable, Sendable {
    /// The watch stands: what changes from here on is told, and what came before may have been missed.
    case connected(EtcdHeader)
    /// The watch was begun anew after a silence, from where it was: nothing was missed.
    case resumed(EtcdHeader)
    case changes(EtcdHeader, [EtcdChange])
    /// What has happened since the last news cannot be told any more, or is another history: read everything once the
    /// watch stands again.
    case historyLost
    /// The watch has been lost; it is tried again by itself.
    case trouble(EtcdFailure)
}

/// A watch that is kept up: on the next endpoint when one ends or falls silent, from where it was.
package struct EtcdWatch: Sendable {
    /// Nothing has come for this long: the member may be paused, or cut off from us.
    package static let silence = Duration.seconds(30)
    /// Until a member begins to answer: it asks no other one for that.
    private static let openingTime = Duration.seconds(2)
    private static let shortestPause = Duration.milliseconds(200)
    private static let longestPause = Duration.seconds(5)

    private let client: EtcdClient
    private let keys: EtcdKeys
    private let silence: Duration

    /// - Parameters:
    ///   - client: whom to ask.
    ///   - keys: what to watch.
    ///   - silence: how long nothing may come before another member is asked.
    package init(_ client: EtcdClient, _ keys: EtcdKeys, silence: Duration = silence) {
        self.client = client
        self.keys = keys
        self.silence = silence
    }

    /// Hands on news, one after the other, until the task is cancelled.
    ///
    /// A watch of which nothing is heard is begun anew without a word: where nothing changes, etcd 3.4 says nothing for ten
    /// minutes.
    ///
    /// - Parameters:
    ///   - start: tells changes after what this header says; `nil`: from now on.
    ///   - take: is waited for, so that whoever is slow is sent no more.
    package func follow(
        after start: EtcdHeader?,
        _ take: @escaping @Sendable (EtcdWatchEvent) async -> Void
    ) async {
        var beginning = Beginning(place: start)
        var pause = EtcdWatch.shortestPause
        // Members that have been asked in vain, one after the other.
        var failures = 0
        while !Task.isCancelled {
            let endpoint = client.order.present[0]
            let alarm = InactivityTimeout(silence)
            let end = await alarm.guarding { [beginning] alarm in
                await self.follow(from: beginning, at: endpoint, alarm, take)
            }
            guard !Task.isCancelled else { return }
            beginning = Beginning(
                place: end.place,
                isResumption: end.hasConnected && alarm.hasRung && !end.hasLostHistory
            )
            if end.hasConnected {
                pause = EtcdWatch.shortestPause
                failures = 0
                if alarm.hasRung { continue }
            }
            if end.hasLostHistory { await take(.historyLost) }
            if let failure = end.failure {
                client.order.avoid(endpoint)
                failures += 1
                let isAway = failures.isMultiple(of: client.endpoints.count)
                if isAway { await client.wasAway() }
                // Another member may well answer: only one that had answered is missed at once.
                guard end.hasConnected || isAway else { continue }
                await take(.trouble(failure))
            }
            try? await Task.sleep(for: pause * .random(in: 0.5..<1.5))
            pause = min(pause * 2, EtcdWatch.longestPause)
        }
    }

    /// From where a watch is begun.
    private struct Beginning: Sendable {
        /// Where the last watch was; `nil`: from now on.
        var place: EtcdHeader?
        /// Nothing but a silence ended the last one.
        var isResumption = false
    }

    /// How the watch at one member has ended.
    private struct End: Sendable {
        /// Where the next one goes on; `nil`: from then on.
        var place: EtcdHeader?
        var hasConnected = false
        /// What was before cannot be told any more.
        var hasLostHistory = false
        var failure: EtcdFailure?

        mutating func historyCompacted() {
            hasLostHistory = true
            place = nil
        }
    }

    private func follow(
        from start: Beginning,
        at endpoint: EtcdEndpoint,
        _ alarm: InactivityTimeout,
        _ take: @Sendable (EtcdWatchEvent) async -> Void
    ) async -> End {
        var end = End(place: start.place)
        var token: String?
        do throws(EtcdFailure) {
            token = try await client.token(at: endpoint, until: .now + EtcdClient.callTime)
            var lines = try await open(after: start.place, at: endpoint, token, alarm)
            while let line = try await lines.next() {
                switch line {
                case .ended(let failure): throw failure
                case .created(let header):
                    guard start.place.map(header.continues) ?? true else {
                        end.historyCompacted()
                        return end
                    }
                    end.hasConnected = true
                    if end.place == nil { end.place = header }
                    await alarm.resting {
                        await take(start.isResumption ? .resumed(header) : .connected(header))
                    }
                case .changes(let header, let changes, let isWhole):
                    guard changes.allSatisfy({ keys.contains($0.pair.key) }) else {
                        throw .malformed("a change is of a key that is not watched")
                    }
                    if !changes.isEmpty { await alarm.resting { await take(.changes(header, changes)) } }
                    if isWhole { end.place = header.reached(by: changes) }
                }
            }
            end.failure = .unreachable("the watch has ended")
        } catch {
            await fail(&end, error, token)
        }
        return end
    }

    private func fail(_ end: inout End, _ failure: EtcdFailure, _ token: String?) async {
        switch failure {
        case .compacted: return end.historyCompacted()
        // What cannot be read here cannot be read the next time either.
        case .malformed: if end.hasConnected { end.historyCompacted() }
        case .unauthenticated: await client.forget(token)
        // The token of a watch that stood, and has fallen silent, is good.
        case .unanswered where !end.hasConnected: await client.doubt(token)
        default: break
        }
        end.failure = failure
    }

    private func open(
        after place: EtcdHeader?,
        at endpoint: EtcdEndpoint,
        _ token: String?,
        _ alarm: InactivityTimeout
    ) async throws(EtcdFailure) -> WatchLines {
        let stream = try await client.transport.open(
            GatewayRequest.watch(keys, from: place.map { $0.revision &+ 1 } ?? 0),
            at: endpoint,
            token: token,
            until: .now + EtcdWatch.openingTime
        )
        guard stream.status == 200 else {
            let body = await WatchLines.beginning(of: stream)
            throw GatewayError(status: stream.status, body: body).failure
        }
        return WatchLines(stream, alarm)
    }
}

extension EtcdHeader {
    /// How far a watch is after these changes: the header itself may be of a later moment, from which others follow.
    fileprivate func reached(by changes: [EtcdChange]) -> EtcdHeader {
        var place = self
        if let last = changes.last { place.revision = last.pair.modRevision }
        return place
    }

    /// Whether this answer can have come after `known` from the same history.
    fileprivate func continues(_ known: EtcdHeader) -> Bool {
        cluster == known.cluster && revision >= known.revision
    }
}

/// The lines of a watch as they come.
private struct WatchLines {
    private var pieces: GatewayStream.Iterator
    private var cutter = LineCutter()
    private let alarm: InactivityTimeout

    init(_ stream: GatewayStream, _ alarm: InactivityTimeout) {
        pieces = stream.makeAsyncIterator()
        self.alarm = alarm
    }

    /// The next line; `nil` at the end.
    mutating func next() async throws(EtcdFailure) -> WatchLine? {
        while true {
            if let line = try cutter.nextOfWatch() { return try WatchLine(parsing: line) }
            guard let bytes = try await pieces.next() else { return nil }
            alarm.heard()
            cutter.append(bytes)
        }
    }

    /// What a refusal says, as far as it comes.
    static func beginning(of stream: GatewayStream) async -> [UInt8] {
        var pieces = stream.makeAsyncIterator()
        var bytes: [UInt8] = []
        while bytes.count < 4096, let piece = try? await pieces.next() { bytes += piece }
        return bytes
    }
}
