// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import Logging
import NIOCore
import TokenCore

/// Where the agent's own socket goes when its place is gone.
package struct ReserveSocket: Sendable {
    package var path: String
    /// Called with the path once the socket is there.
    package var onMove: @Sendable (String) -> Void

    package init(path: String, onMove: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.onMove = onMove
    }
}

/// Why a socket could not be made.
private struct SocketLoss: Error {
    var reason: String
    /// Whether another agent listens there.
    var isTaken: Bool
}

/// Accepts the peers that may connect and gives each a ``Connection``; keeps its socket in place.
///
/// Confined to the event loop.
final class SocketListener: DescriptorWatching, @unchecked Sendable {
    // Unchecked: every property that changes is confined to the event loop.
    /// Peers that are accepted before the loop looks at its other descriptors.
    private static let mostAccepted = 16
    /// Half of the second within which the agent must accept again once there are descriptors.
    private static let pause = TimeAmount.milliseconds(500)
    /// Peers that are kept waiting because they may not have the bare token.
    private static let mostWithheld = 8
    /// Rounds of housekeeping after which they are let go: at least two minutes.
    private static let withheldRounds = 5

    private let services: ConnectionServices
    private let logger: Logger
    /// The `[[socket]]` it listens for; `nil`: the agent's own socket.
    private let restrictedPath: String?
    /// Where to listen once the socket cannot be made again in its place.
    private let reserve: ReserveSocket?
    /// Which users may connect; connections of a user that may no longer are closed at once.
    var access = PeerAccess() {
        didSet { if access != oldValue { closeConnections { !access.admits($0.caller.peer.userID) } } }
    }
    /// Whether each connection shall tell who writes to it; those accepted already are not changed.
    var watchesSenders = false
    /// The session whose bare token each peer is given, which sends no request; `nil`: peers send requests.
    var unaskedSession: SessionName?
    private var socket: ListeningSocket?
    private var watch: AgentLoop.Watch?
    /// Whether peers wait in the kernel's queue until there is a token for them.
    private var isPreparing = false
    /// Connections of users that may not have the bare token, the oldest first, with the rounds they have waited.
    private var withheld: [(descriptor: CInt, rounds: Int)] = []

    init(
        services: ConnectionServices,
        logger: Logger,
        restrictedPath: String? = nil,
        reserve: ReserveSocket? = nil
    ) {
        self.restrictedPath = restrictedPath
        self.reserve = reserve
        self.services = services
        self.logger = logger
    }

    deinit {
        for peer in withheld { close(peer.descriptor) }
    }

    /// Begins to accept on `socket`, and no more on an earlier one.
    func start(on socket: ListeningSocket) throws(PollFailure) {
        let watch: AgentLoop.Watch
        do {
            watch = try services.loop.watch(socket.descriptor, for: .readable, self)
        } catch {
            socket.removeFile()
            close(socket.descriptor)
            throw error
        }
        stopListening()
        self.socket = socket
        self.watch = watch
    }

    func ready(_ readiness: Readiness) {
        guard let unaskedSession else { return acceptAll() }
        if isPreparing { listen(for: []) } else { prepareToken(of: unaskedSession) }
    }

    private func acceptAll() {
        guard let socket else { return }
        for _ in 0..<Self.mostAccepted {
            let descriptor = hardening_accept(socket.descriptor)
            if descriptor >= 0 {
                welcome(descriptor)
            } else if errno != ECONNABORTED, errno != EINTR {
                if errno != EAGAIN { acceptFailed(errno) }
                return
            }
        }
    }

    func loopEnded() { stopListening() }

    /// Stops accepting: for a moment if the system has no descriptor left, else for good.
    ///
    /// The peer stays in the queue, so the socket stays ready: without a pause the loop would spin.
    private func acceptFailed(_ code: CInt) {
        guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else {
            let reason = unsafe String(cString: strerror(code))
            logger.error("a socket accepts nobody any more", metadata: ["reason": "\(reason)"])
            return stopListening()
        }
        listen(for: [])
        services.loop.scheduleTask(in: Self.pause) { [weak self] in self?.listen(for: .readable) }
    }

    private func listen(for readiness: Readiness) {
        guard let socket, let watch else { return }
        services.loop.change(watch, of: socket.descriptor, to: readiness)
    }

    /// Accepts the peers that wait as soon as there is a token for them; if there is none, they are reset.
    ///
    /// A connection that nobody has accepted can be reset, so that its peer's read fails. One that was accepted could
    /// only be ended, and a peer that has read nothing but an end takes it for an empty token.
    private func prepareToken(of session: SessionName) {
        isPreparing = true
        listen(for: [])
        let identity = socket?.identity
        let loop = services.loop
        services.agent.prepareToken(of: session) { [weak self] failure in
            loop.execute { [weak self] in self?.tokenPrepared(failure, at: identity) }
        }
    }

    private func tokenPrepared(_ failure: RequestFailure?, at identity: ListeningSocket.Identity?) {
        isPreparing = false
        guard let socket, let path = socket.path else { return }
        guard let failure else {
            listen(for: .readable)
            return acceptAll()
        }
        // Whoever waits at a socket that was opened meanwhile has a wait of its own.
        guard socket.identity == identity else { return listen(for: .readable) }
        let metadata: Logger.Metadata = ["socket": "\(path)", "reason": "\(failure.message)"]
        logger.warning("there is no token for those who wait", metadata: metadata)
        // Closing the socket resets whoever waits.
        stopAccepting()
        do throws(SocketLoss) {
            try open(in: socket, path)
        } catch {
            _ = lose(path, error)
        }
    }

    /// Lets in peers of the right users only, before a byte of theirs is read.
    private func welcome(_ descriptor: CInt) {
        let found = PeerCredentials(descriptor: descriptor)
        guard let peer = found, access.admits(peer.userID) else {
            let user = found.map { "\($0.userID)" } ?? "unknown"
            var metadata: Logger.Metadata = ["uid": "\(user)"]
            if let restrictedPath { metadata["socket"] = "\(restrictedPath)" }
            logger.warning("refused a peer of another user", metadata: metadata)
            if unaskedSession == nil { close(descriptor) } else { delayClose(descriptor) }
            return
        }
        let peerSocket = PeerSocket(descriptor, loop: services.loop)
        let acceptedAt = Instant(nanoseconds: hardening_boot_clock())
        let caller = Caller(peer, socketPath: restrictedPath, acceptedAt: acceptedAt)
        let connection = Connection(caller, services, socket: peerSocket)
        guard services.register.admit(connection) else {
            logger.warning("refused a connection: all are in use")
            if unaskedSession != nil {
                withExtendedLifetime(connection) { delayClose(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) }
            }
            return
        }
        if watchesSenders { connection.watchSender() }
        services.agent.welcome(connection)
        do {
            if let unaskedSession {
                try connection.begin(answering: .bareToken(of: unaskedSession))
            } else {
                try connection.begin()
            }
        } catch {
            logger.warning("refused a connection", metadata: ["reason": "\(error)"])
            connection.close()
        }
    }

    /// Leaves a connection open for a while whose peer would take its end for an empty token.
    private func delayClose(_ descriptor: CInt) {
        guard descriptor >= 0 else { return }
        if withheld.count == Self.mostWithheld { close(withheld.removeFirst().descriptor) }
        withheld.append((descriptor, 0))
    }

    private func closeDelayedConnections() {
        for place in withheld.indices { withheld[place].rounds += 1 }
        while let first = withheld.first, first.rounds >= Self.withheldRounds {
            close(withheld.removeFirst().descriptor)
        }
    }

    /// Makes sure that the socket's file is in place; called by ``Housekeeping``.
    /// - Returns: whether the agent can still be reached.
    func housekeep() -> Bool {
        closeDelayedConnections()
        guard let socket else { return false }
        guard let path = socket.path, !socket.isInPlace else { return true }
        return rebind(socket, path)
    }

    /// Makes the socket's file again, as it is gone or another's, unless another agent is there now.
    ///
    /// Its directory may be gone too, as `$XDG_RUNTIME_DIR` is after a logout, and the sandbox lets the agent make no
    /// other: then the socket moves to its reserve.
    private func rebind(_ lost: ListeningSocket, _ path: String) -> Bool {
        do throws(SocketLoss) {
            try open(in: lost, path)
            logger.warning("the socket's file was gone and has been made again")
            return true
        } catch {
            guard let reserve, reserve.path != path, !error.isTaken else { return lose(path, error) }
            do throws(SocketLoss) {
                try open(in: lost, reserve.path)
            } catch {
                return lose(path, error)
            }
            let metadata: Logger.Metadata = ["from": "\(path)", "to": "\(reserve.path)"]
            logger.warning("the socket has moved", metadata: metadata)
            reserve.onMove(reserve.path)
            return true
        }
    }

    /// - Returns: `false`: the agent cannot be reached.
    private func lose(_ path: String, _ loss: SocketLoss) -> Bool {
        logger.error("the socket is lost", metadata: ["socket": "\(path)", "reason": "\(loss.reason)"])
        return false
    }

    /// Opens a socket at `path` in the place of `lost`.
    private func open(in lost: ListeningSocket, _ path: String) throws(SocketLoss) {
        let mode = restrictedPath == nil ? nil : lost.mode
        do {
            try start(on: try ListeningSocket.bind(to: path, mode: mode, group: lost.group))
        } catch let failure as ListenFailure {
            throw SocketLoss(reason: "\(failure)", isTaken: failure == .alreadyRunning(path: path))
        } catch {
            throw SocketLoss(reason: "\(error)", isTaken: false)
        }
    }

    /// Accepts nobody any more and removes the socket's file; open connections go on.
    func stopAccepting() {
        socket?.removeFile()
        stopListening()
    }

    private func stopListening() {
        if let socket {
            if let watch { services.loop.forget(watch, ofShared: socket.descriptor) }
            close(socket.descriptor)
        }
        watch = nil
        socket = nil
    }

    /// Closes connections that were made through this socket.
    func closeConnections(where isMeant: (Connection) -> Bool = { _ in true }) {
        services.register.closeAll { $0.caller.socketPath == restrictedPath && isMeant($0) }
    }
}
