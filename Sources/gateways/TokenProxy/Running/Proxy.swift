// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import NIOPosix

/// All listeners of the process.
///
/// Unchecked: confined to the event loop.
final class Proxy: @unchecked Sendable {
    typealias Applied = (Result<[ListeningPlaceMessage], AgentError>) -> Void

    /// The maximum time for active requests when a listener or the process ends.
    private static let endTime = TimeAmount.seconds(20)

    private let loop: any EventLoop
    private let owner: ConnectionUserLookup
    private let agent: AgentConnectionPool
    private let report: ProxyTelemetry
    private let drops = CacheInvalidationList()
    private let watch: EventWatch
    /// The listeners by address, or by name for listeners on any free port.
    private var listeners: [ListenerKey: ServedListener] = [:]
    private var order: [ListenerKey] = []

    private enum ListenerKey: Hashable {
        case address(ListenAddress)
        case anyPort(name: String)

        init(_ table: ListenerDefinition) {
            if case .loopback(_, port: 0) = table.address {
                self = .anyPort(name: table.name)
            } else {
                self = .address(table.address)
            }
        }
    }

    /// The credential providers whose cached tokens are dropped when an event arrives.
    private final class CacheInvalidationList {
        var desks: [CredentialProvider] = []
    }

    init(agentSocket: String, owner: ConnectionUserLookup, loop: any EventLoop, pool: NIOThreadPool) {
        self.loop = loop
        self.owner = owner
        agent = AgentConnectionPool(socket: agentSocket, loop: loop)
        report = ProxyTelemetry(pool: pool, loop: loop)
        watch = EventWatch(link: agent) { [drops] in
            for coordinator in drops.desks { coordinator.drop() }
        }
    }

    /// Activates tables: opens new listeners, ends removed ones, and keeps unchanged ones.
    ///
    /// If one of the listeners cannot be opened, nothing changes.
    func apply(_ message: ListenersSetupMessage, _ applied: @escaping Applied) {
        var wanted: [(place: ListenerKey, parts: ListenerParts)] = []
        do throws(AgentError) {
            var tables: [ListenerDefinition] = []
            for listener in message.listeners ?? [] { tables.append(try ListenerDefinition(listener)) }
            if let metrics = message.metrics { tables.append(try ListenerDefinition(metricsAt: metrics)) }
            for table in tables {
                if let present = listeners[ListenerKey(table)], present.parts.table == table {
                    wanted.append((ListenerKey(table), present.parts))
                } else {
                    let parts = try ListenerParts(table, agent: agent, watch: watch, report: report)
                    wanted.append((ListenerKey(table), parts))
                }
            }
        } catch {
            return applied(.failure(error))
        }
        open(wanted.filter { listeners[$0.place] == nil }, [:]) { [self] result in
            switch result {
            case .failure(let error): applied(.failure(error))
            case .success(let opened):
                report.logsAccess = message.logsAccess ?? false
                take(wanted, opened)
                applied(.success(places))
            }
        }
    }

    private var places: [ListeningPlaceMessage] {
        order.compactMap { listeners[$0] }.map { listener in
            ListeningPlaceMessage {
                $0.name = listener.parts.name
                $0.url = listener.url
                switch listener.parts.table.service {
                case .proxy: $0.kind = .proxy
                case .endpoint(let kind, _): $0.kind = kind
                case .metrics: $0.url = listener.url + "/metrics"
                }
            }
        }
    }

    /// Opens listeners one after the other.
    ///
    /// If one fails, those opened before it are closed.
    private func open(
        _ rest: [(place: ListenerKey, parts: ListenerParts)],
        _ opened: [ListenerKey: ServedListener],
        _ done: @escaping (Result<[ListenerKey: ServedListener], AgentError>) -> Void
    ) {
        guard let next = rest.first else { return done(.success(opened)) }
        ServedListener.open(next.parts, owner, on: loop) { [self] result in
            switch result {
            case .failure(let error):
                for listener in opened.values { listener.end {} }
                done(.failure(error))
            case .success(let listener):
                var opened = opened
                opened[next.place] = listener
                open(Array(rest.dropFirst()), opened, done)
            }
        }
    }

    private func take(
        _ wanted: [(place: ListenerKey, parts: ListenerParts)],
        _ opened: [ListenerKey: ServedListener]
    ) {
        for (place, listener) in opened { listeners[place] = listener }
        let staying = Set(wanted.map(\.place))
        let leaving = listeners.filter { !staying.contains($0.key) }
        for place in leaving.keys { listeners[place] = nil }
        retire(Array(leaving.values)) {}
        for (place, parts) in wanted {
            guard let listener = listeners[place] else { continue }
            if listener.parts !== parts {
                listener.parts.pool?.end()
                listener.parts = parts
            }
            if case .endpoint(let kind, let rules) = parts.table.service {
                CloudCredentialService(parts, kind, rules).prepare()
            }
        }
        order = wanted.map(\.place)
        drops.desks = listeners.values.map(\.parts.coordinator)
    }

    /// Stops accepting requests, and calls `ended` when the active requests have ended or their time is over.
    func end(_ ended: @escaping () -> Void) {
        let ending = Array(listeners.values)
        listeners = [:]
        watch.end()
        retire(ending) { [report] in report.whenWritten(ended) }
    }

    /// Ends listeners, and calls `ended` when their active requests have ended or their time is over.
    private func retire(_ ending: [ServedListener], _ ended: @escaping () -> Void) {
        var left = ending.count
        guard left > 0 else { return ended() }
        for listener in ending {
            listener.end {
                left -= 1
                if left == 0 { ended() }
            }
        }
        loop.assumeIsolated().scheduleTask(in: Proxy.endTime) {
            for listener in ending { listener.abort() }
            ended()
        }
    }
}
