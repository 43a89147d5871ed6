// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import NIOCore
import NIOPosix
import Text

/// A listening address and the connections made to it.
///
/// Unchecked: confined to the event loop.
final class ServedListener: @unchecked Sendable {
    /// The maximum number of connections.
    ///
    /// Each may hold two file descriptors.
    private static let maximumConnections = 1024
    private static let sweepTime = TimeAmount.seconds(5)

    private let loop: any EventLoop
    private let server: any Channel
    private let lock: SocketFile?
    private var connections: [ObjectIdentifier: ClientConnection] = [:]
    private var sweeping: RepeatedTask?
    private var emptied: (() -> Void)?
    /// The parts for requests that begin from now on.
    var parts: ListenerParts
    /// Whether the listener accepts no more requests.
    private(set) var isEnding = false
    /// The host and port of the listener, or `localhost` for a Unix socket.
    let authority: ArraySlice<UInt8>
    /// Whether the listener uses TCP, which pages in a browser can reach too.
    fileprivate let isTCP: Bool

    private init(
        _ parts: ListenerParts,
        _ server: any Channel,
        _ lock: SocketFile?
    ) {
        self.parts = parts
        self.server = server
        self.lock = lock
        loop = server.eventLoop
        if let address = server.localAddress, let host = address.ipAddress, let port = address.port {
            authority = Array((host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)").utf8)[...]
            isTCP = true
        } else {
            authority = Array("localhost".utf8)[...]
            isTCP = false
        }
    }

    /// Opens the address of `parts` and passes the listener, or an error, to `opened`.
    static func open(
        _ parts: ListenerParts,
        _ owner: ConnectionUserLookup,
        on loop: any EventLoop,
        _ opened: @escaping (Result<ServedListener, AgentError>) -> Void
    ) {
        let intake = LoopBound(ConnectionIntake(owner))
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                // Nothing has been read. Nothing is read unless the connection belongs to an allowed user.
                channel.eventLoop.makeCompletedFuture { try intake.value.take(channel) }
            }
        var file: SocketFile?
        let binding: EventLoopFuture<any Channel>
        switch parts.table.address {
        case .loopback(let host, let port):
            binding = bootstrap.bind(host: host, port: port)
        case .path(let path):
            do throws(AgentError) {
                let made = try SocketFile(path)
                file = made
                binding = bootstrap.withBoundSocket(made.descriptor)
            } catch {
                var failure = error
                failure.message = "\(parts.name): \(error.message)"
                return opened(.failure(failure))
            }
        }
        let lock = file
        binding.assumeIsolated().whenComplete { result in
            switch result {
            case .failure(let error): opened(.failure(.cannotListen(parts.table, error)))
            case .success(let server):
                let listener = ServedListener(parts, server, lock)
                intake.value.listener = listener
                opened(.success(listener))
            }
        }
    }

    /// The URL of the listener, for people.
    var url: String {
        if case .path(let path) = parts.table.address { return "http+unix:\(path)" }
        return "http://\(authority.text)"
    }

    // MARK: Connections

    func add(_ connection: ClientConnection) {
        connections[ObjectIdentifier(connection)] = connection
        parts.report.recordConnections(1, of: parts.name)
        guard sweeping == nil else { return }
        let listener = LoopBound(self)
        sweeping = loop.scheduleRepeatedTask(
            initialDelay: ServedListener.sweepTime,
            delay: ServedListener.sweepTime
        ) { _ in listener.value.sweep() }
    }

    func remove(_ connection: ClientConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        parts.report.recordConnections(-1, of: parts.name)
        tellIfEmpty()
    }

    /// Calls `emptied` once when the last connection of an ending listener is gone.
    private func tellIfEmpty() {
        guard isEnding, connections.isEmpty, let emptied else { return }
        self.emptied = nil
        emptied()
    }

    /// Whether another connection may be accepted.
    fileprivate var hasRoom: Bool { !isEnding && connections.count < ServedListener.maximumConnections }

    fileprivate func recordStranger() { parts.report.recordStranger(of: parts.name) }

    /// Ends connections that have waited too long.
    ///
    /// The timer stops while there are no connections.
    private func sweep() {
        let now = NIODeadline.now()
        for connection in connections.values { connection.sweep(at: now) }
        parts.pool?.sweep()
        guard connections.isEmpty else { return }
        sweeping?.cancel()
        sweeping = nil
        parts.pool?.close()
    }

    /// Stops accepting requests, and calls `emptied` when the last connection is gone.
    func end(_ emptied: @escaping () -> Void) {
        isEnding = true
        server.close(promise: nil)
        lock?.remove()
        self.emptied = emptied
        for connection in connections.values { connection.endSoon() }
        tellIfEmpty()
    }

    /// Closes the remaining connections.
    func abort() {
        for connection in connections.values { connection.abort() }
        parts.pool?.close()
    }

    // MARK: Requests

    /// Rejects a request that may come from a page in a browser, before anything else is done with the
    /// request.
    ///
    /// Such a page can reach every TCP address of this machine, under any host name.
    func check(_ request: ProxiedRequest) throws(ForwardingError) {
        guard isTCP else { return }
        guard isExpectedHost(request.host) else { throw .malformed("Host is not this listener's address") }
        guard !request.has(.origin),
            request.only("sec-fetch-site").map({ $0.says("none") }) ?? !request.has(.fetchSite),
            request.fields.allSatisfy({ !$0.name.says("referer") || isOwnReferer($0.value) })
        else { throw ForwardingError(403, "requests from web pages are not allowed") }
    }

    /// Returns whether the page in a `Referer` is on the listener or on the upstream.
    ///
    /// Older browsers fetch images and scripts with no other sign than this field. Some programs send the
    /// field for servers that require it.
    private func isOwnReferer(_ value: ArraySlice<UInt8>) -> Bool {
        guard let colon = value.firstRange(of: Array("://".utf8)) else { return value.isEmpty }
        let authority = value[colon.upperBound...].prefix { !"/?#".utf8.contains($0) }
        guard case .proxy(let rules) = parts.table.service else { return isExpectedHost(authority) }
        let origin = value[..<colon.upperBound] + authority
        return isExpectedHost(authority) || origin.saysTheSame(as: Array(rules.upstream.origin.utf8)[...])
    }

    private func isExpectedHost(_ host: ArraySlice<UInt8>?) -> Bool {
        guard let host else { return true }
        guard !host.saysTheSame(as: authority) else { return true }
        let port = authority.lastIndex(of: UInt8(ascii: ":")).map { authority[$0...] } ?? []
        let isDefault = port.elementsEqual(":80".utf8)
        return host.saysTheSame(as: Array("localhost".utf8)[...] + port)
            || isDefault && host.says("localhost")
    }
}

/// A filter for new connections.
///
/// Unchecked: confined to the event loop.
private final class ConnectionIntake: @unchecked Sendable {
    private struct ConnectionRefusedError: Error {}

    private let owner: ConnectionUserLookup
    weak var listener: ServedListener?

    init(_ owner: ConnectionUserLookup) {
        self.owner = owner
    }

    /// Accepts a connection, or throws and thereby closes it.
    func take(_ channel: any Channel) throws {
        guard let listener, listener.hasRoom else { throw ConnectionRefusedError() }
        guard owner.isServed(channel, isTCP: listener.isTCP, listener.parts.table.users) else {
            listener.recordStranger()
            throw ConnectionRefusedError()
        }
        try channel.pipeline.syncOperations.addHandler(ClientConnection(listener: listener))
    }
}

extension AgentError {
    fileprivate static func cannotListen(_ table: ListenerDefinition, _ error: any Error) -> AgentError {
        let number = (error as? IOError)?.errnoCode ?? 0
        let reason = number == 0 ? "\(error)" : systemMessage(number)
        let place =
            switch table.address {
            case .path(let path): path
            case .loopback(let host, let port): "\(host) port \(port)"
            }
        let remedy: Remedy? =
            switch number {
            case EADDRINUSE: .set("another listen port")
            case EACCES: .set("a listen port above 1023")
            case EADDRNOTAVAIL: .set("a listen address of this machine")
            default: nil
            }
        return AgentError(
            remedy == nil ? .internal : .misconfigured,
            "\(table.name): cannot listen at \(place): \(reason)",
            remedy: remedy
        )
    }
}
