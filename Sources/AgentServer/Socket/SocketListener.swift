// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import Logging
import NIOCore
import NIOPosix
import TokenCore

/// Accepts the peers that may connect and gives each a ``Connection``; keeps its socket in place.
final class SocketListener: @unchecked Sendable {
    // Unchecked: every property that changes is confined to the event loop.
    private let eventLoop: any EventLoop
    private let services: ConnectionServices
    private let logger: Logger
    /// The `[[socket]]` it listens for; `nil`: the agent's own socket.
    private let restrictedPath: String?
    /// Which users may connect; connections of a user that may no longer are closed at once.
    var access = PeerAccess() {
        didSet { if access != oldValue { closeConnections { !access.admits($0.caller.peer.userID) } } }
    }
    /// Whether each connection shall tell who writes to it; those accepted already are not changed.
    var watchesSenders = false {
        didSet { tellSenders() }
    }
    private var socket: ListeningSocket?
    private var channel: (any Channel)?
    private var hasStopped = false

    init(
        eventLoop: any EventLoop,
        services: ConnectionServices,
        logger: Logger,
        restrictedPath: String? = nil
    ) {
        self.restrictedPath = restrictedPath
        self.eventLoop = eventLoop
        self.services = services
        self.logger = logger
    }

    /// Begins to accept on `socket`.
    func start(on socket: ListeningSocket) -> EventLoopFuture<Void> {
        if watchesSenders { _ = hardening_tell_senders(socket.descriptor) }
        return ServerBootstrap(group: eventLoop)
            .serverChannelOption(.maxMessagesPerRead, value: 16)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause())
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.welcome(channel) }
            }
            .withBoundSocket(socket.descriptor)
            .map { channel in
                socket.restoreBacklog()
                self.socket = socket
                self.channel = channel
                if self.hasStopped { self.stopAccepting() }
            }
    }

    /// Has the kernel tell who writes, also for accepted sockets: a peer that writes at once is known too.
    private func tellSenders() {
        guard watchesSenders, let socket else { return }
        _ = hardening_tell_senders(socket.descriptor)
    }

    private var waterMark: ChannelOptions.Types.WriteBufferWaterMark {
        .init(low: services.limits.unreadAnswers / 4, high: services.limits.unreadAnswers)
    }

    /// Lets in peers of the right users only, before a byte of theirs is read.
    private func welcome(_ channel: any Channel) throws {
        let descriptor = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        let found = descriptor.flatMap { Peer(descriptor: $0) }
        guard let peer = found, access.admits(peer.userID) else {
            let user = found.map { "\($0.userID)" } ?? "unknown"
            var metadata: Logger.Metadata = ["uid": "\(user)"]
            if let restrictedPath { metadata["socket"] = "\(restrictedPath)" }
            logger.warning("refused a peer of another user", metadata: metadata)
            throw ChannelError.operationUnsupported
        }
        let acceptedAt = Instant(nanoseconds: hardening_boot_clock())
        let caller = Caller(peer, restrictedPath: restrictedPath, acceptedAt: acceptedAt)
        let connection = Connection(caller, services, descriptor: descriptor)
        guard services.register.admit(connection) else {
            logger.warning("refused a connection: all are in use")
            throw ChannelError.operationUnsupported
        }
        // A peer that has sent everything still reads the answer.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try channel.syncOptions?.setOption(.writeBufferWaterMark, value: waterMark)
        try channel.pipeline.syncOperations.addHandler(connection)
        if watchesSenders { connection.watchSender() }
        services.agent.welcome(connection)
    }

    /// Makes sure that the socket's file is in place; called by ``Housekeeping``.
    /// - Returns: whether the agent can still be reached.
    func housekeep() -> Bool {
        guard let socket, let path = socket.path, !socket.isInPlace else { return true }
        return rebind(socket, path)
    }

    /// Makes the socket's file anew, as it is gone or another's, unless another agent is there now.
    private func rebind(_ lost: ListeningSocket, _ path: String) -> Bool {
        do {
            let mode = restrictedPath == nil ? nil : lost.mode
            let socket = try ListeningSocket.bind(to: path, mode: mode, group: lost.group)
            let old = channel
            start(on: socket).whenComplete { _ in old?.close(promise: nil) }
            logger.warning("the socket's file was gone and has been made again")
            return true
        } catch {
            logger.error("the socket is lost", metadata: ["reason": "\(error)"])
            return false
        }
    }

    /// Accepts nobody any more and removes the socket's file; open connections go on.
    func stopAccepting() {
        hasStopped = true
        socket?.removeFile()
        channel?.close(promise: nil)
        channel = nil
        socket = nil
    }

    /// Closes connections that were made through this socket.
    func closeConnections(where isMeant: (Connection) -> Bool = { _ in true }) {
        services.register.closeAll { $0.caller.restrictedPath == restrictedPath && isMeant($0) }
    }
}
