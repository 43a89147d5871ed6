// SPDX-License-Identifier: MIT

import ServerSettings
import Text

/// An event of an etcd watch, which reports the changes of keys.
package enum EtcdWatchEvent: Equatable, Sendable {
    /// The watch is established.
    ///
    /// Changes from now on are reported, and earlier ones may have been missed.
    case connected(EtcdHeader)
    /// The watch was reopened at the same revision, after etcd had sent nothing for too long.
    ///
    /// Nothing was missed.
    case resumed(EtcdHeader)
    case changes(EtcdHeader, [EtcdChange])
    /// Changes since the last event are no longer available, or etcd has another history since a restore.
    ///
    /// Next: read everything again once the watch is connected.
    case historyLost
    /// The watch was lost, and is being reopened.
    case failed(EtcdFailure)
}

/// A watch that continues at the next endpoint, from the same revision, when a stream ends or falls silent.
package struct EtcdWatch: Sendable {
    /// The time without data after which the watch is reopened, 30 seconds: the member may be paused or cut
    /// off.
    package static let silence = Duration.seconds(30)
    /// The time limit for the first response: 2 seconds.
    ///
    /// A member needs no other member for that.
    private static let openingTime = Duration.seconds(2)
    private static let minimumDelay = Duration.milliseconds(200)
    private static let maximumDelay = Duration.seconds(5)

    private let client: EtcdClient
    private let keys: EtcdKeyRange
    private let silence: Duration

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - client: the client for the endpoints.
    ///   - keys: the keys to watch.
    ///   - silence: the time without data after which the watch is reopened.
    package init(_ client: EtcdClient, _ keys: EtcdKeyRange, silence: Duration = silence) {
        self.client = client
        self.keys = keys
        self.silence = silence
    }

    /// Passes events to `take`, one after the other, until the task is cancelled.
    ///
    /// A silent watch is reopened without an error, because etcd 3.4 sends nothing for ten minutes if nothing
    /// changes.
    ///
    /// - Parameters:
    ///   - start: reports changes after this header, or from now on if `nil`.
    ///   - take: is awaited, so that a slow receiver gets no further events.
    package func follow(
        after start: EtcdHeader?,
        _ take: @escaping @Sendable (EtcdWatchEvent) async -> Void
    ) async {
        var beginning = StartRevision(place: start)
        var delay = EtcdWatch.minimumDelay
        // The number of consecutive failures, each at another member.
        var failures = 0
        while !Task.isCancelled {
            let endpoint = client.order.present[0]
            let alarm = InactivityTimeout(silence)
            let end = await alarm.guarding { [beginning] alarm in
                await self.follow(from: beginning, at: endpoint, alarm, take)
            }
            guard !Task.isCancelled else { return }
            beginning = StartRevision(
                place: end.place,
                isResumption: end.hasConnected && alarm.hasRung && !end.hasLostHistory
            )
            if end.hasConnected {
                delay = EtcdWatch.minimumDelay
                failures = 0
                if alarm.hasRung { continue }
            }
            if end.hasLostHistory { await take(.historyLost) }
            if let failure = end.failure {
                client.order.avoid(endpoint)
                failures += 1
                let isAway = failures.isMultiple(of: client.endpoints.count)
                if isAway { await client.wasAway() }
                // Report the loss at once only if this watch had connected. Otherwise try the other members
                // first.
                guard end.hasConnected || isAway else { continue }
                await take(.failed(failure))
            }
            try? await Task.sleep(for: delay * .random(in: 0.5..<1.5))
            delay = min(delay * 2, EtcdWatch.maximumDelay)
        }
    }

    /// The revision from which a watch reports changes.
    private struct StartRevision: Sendable {
        /// The last header that the previous watch reported, or `nil` to report changes from now on.
        var place: EtcdHeader?
        /// Whether the previous watch ended only because etcd sent nothing for too long.
        var isResumption = false
    }

    /// The end of a watch at one member.
    private struct End: Sendable {
        /// The header after which the next watch begins, or `nil` if it reports changes from its start on.
        var place: EtcdHeader?
        var hasConnected = false
        /// Whether earlier changes are no longer available.
        var hasLostHistory = false
        var failure: EtcdFailure?

        mutating func historyCompacted() {
            hasLostHistory = true
            place = nil
        }
    }

    private func follow(
        from start: StartRevision,
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
                        throw .malformed("a change of a key that is not watched")
                    }
                    if !changes.isEmpty { await alarm.resting { await take(.changes(header, changes)) } }
                    if isWhole { end.place = header.reached(by: changes) }
                }
            }
            end.failure = .unreachable("the watch ended")
        } catch {
            await fail(&end, error, token)
        }
        return end
    }

    private func fail(_ end: inout End, _ failure: EtcdFailure, _ token: String?) async {
        switch failure {
        case .compacted: return end.historyCompacted()
        // A message that cannot be parsed now cannot be parsed the next time either.
        case .malformed: if end.hasConnected { end.historyCompacted() }
        case .unauthenticated: await client.forget(token)
        // The token of a watch that was connected and fell silent is valid.
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
    /// Returns this header with the revision of the last of `changes`.
    ///
    /// The header itself may be of a later moment, from which other changes follow.
    fileprivate func reached(by changes: [EtcdChange]) -> EtcdHeader {
        var place = self
        if let last = changes.last { place.revision = last.pair.modRevision }
        return place
    }

    /// Returns whether this header can come after `known` in the same history.
    fileprivate func continues(_ known: EtcdHeader) -> Bool {
        cluster == known.cluster && revision >= known.revision
    }
}

/// The reader of the lines of a watch's response.
private struct WatchLines {
    private var pieces: GatewayStream.Iterator
    private var cutter = LineCutter()
    private let alarm: InactivityTimeout

    init(_ stream: GatewayStream, _ alarm: InactivityTimeout) {
        pieces = stream.makeAsyncIterator()
        self.alarm = alarm
    }

    /// Waits for the next line, or returns `nil` at the end.
    mutating func next() async throws(EtcdFailure) -> WatchLine? {
        while true {
            if let line = try cutter.nextOfWatch() { return try WatchLine(parsing: line) }
            guard let bytes = try await pieces.next() else { return nil }
            alarm.heard()
            cutter.append(bytes)
        }
    }

    /// Reads the beginning of an error response.
    static func beginning(of stream: GatewayStream) async -> [UInt8] {
        var pieces = stream.makeAsyncIterator()
        var bytes: [UInt8] = []
        while bytes.count < 4096, let piece = try? await pieces.next() { bytes += piece }
        return bytes
    }
}
