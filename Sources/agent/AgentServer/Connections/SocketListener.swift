// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import Logging
import NIOCore
import TokenCore

/// The path to which the agent's own socket moves if its directory is gone.
package struct FallbackSocket: Sendable {
    package var path: String
    /// The closure that is called with the path once the socket is there.
    var onMove: @Sendable (String) -> Void

    package init(path: String, onMove: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.onMove = onMove
    }
}

/// An error that prevents a socket from being recreated.
private struct SocketRecreationError: Error {
    var reason: String
    /// Whether another agent is listening there.
    var isTaken: Bool
}

/// A listener that accepts permitted peers, gives each a ``Connection``, and keeps its socket in place.
///
/// - Entry points: ``start(on:)``, ``housekeep()``, ``stopAccepting()``.
/// - Runs on: the event loop, to which it is confined.
final class SocketListener: ReadinessHandling, @unchecked Sendable {
    // Unchecked: every property that changes is confined to the event loop.
    /// The number of peers that are accepted before the loop checks its other descriptors.
    private static let maximumAccepted = 16
    /// The pause once descriptors have run out: half of the second within which the agent must accept again
    /// when there are some.
    private static let delay = TimeAmount.milliseconds(500)
    /// The maximum number of peers that are kept waiting because they may not have the bare token.
    private static let maximumWithheld = 8
    /// The number of housekeeping rounds after which such a peer is disconnected: at least two minutes.
    private static let withheldRounds = 5

    private let services: ConnectionServices
    private let logger: Logger
    /// The path of its `[[socket]]`, or `nil` for the agent's own socket.
    private let restrictedPath: String?
    /// The path to use once the socket cannot be recreated at its own path.
    private let reserve: FallbackSocket?
    /// The users that may connect.
    ///
    /// Connections of users that no longer may are closed at once.
    var access = PermittedUsers() {
        didSet { if access != oldValue { closeConnections { !access.admits($0.caller.peer.userID) } } }
    }
    /// Whether new connections report the writer of their bytes.
    ///
    /// Existing ones are not changed.
    var watchesSenders = false
    /// The session whose bare token each peer gets without a request, or `nil` if peers send requests.
    var unaskedSession: SessionName?
    private var socket: ListeningSocket?
    private var watch: AgentLoop.WatchID?
    /// Whether peers wait in the kernel's queue until a token is available.
    private var isPreparing = false
    /// The connections of users that may not have the bare token, oldest first, with their number of rounds.
    private var withheld: [(descriptor: CInt, rounds: Int)] = []

    init(
        services: ConnectionServices,
        logger: Logger,
        restrictedPath: String? = nil,
        reserve: FallbackSocket? = nil
    ) {
        self.restrictedPath = restrictedPath
        self.reserve = reserve
        self.services = services
        self.logger = logger
    }

    deinit {
        for peer in withheld { close(peer.descriptor) }
    }

    /// Starts to accept on `socket`, and stops on an earlier one.
    ///
    /// - Throws: `PollFailure` if the loop cannot watch the socket. Its file is then removed.
    func start(on socket: ListeningSocket) throws(PollFailure) {
        let watch: AgentLoop.WatchID
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
        for _ in 0..<Self.maximumAccepted {
            let descriptor = hardening_accept(socket.descriptor)
            if descriptor >= 0 {
                accept(descriptor)
            } else if errno != ECONNABORTED, errno != EINTR {
                if errno != EAGAIN { acceptFailed(errno) }
                return
            }
        }
    }

    func loopEnded() { stopListening() }

    /// Stops accepting: for a moment if the system has no descriptor left, otherwise for good.
    ///
    /// The peer stays in the queue, so the socket stays ready. Without a delay the loop would spin.
    private func acceptFailed(_ code: CInt) {
        guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else {
            let reason = unsafe String(cString: strerror(code))
            logger.error("socket stopped accepting connections", metadata: ["reason": "\(reason)"])
            return stopListening()
        }
        listen(for: [])
        services.loop.scheduleTask(in: Self.delay) { [weak self] in self?.listen(for: .readable) }
    }

    private func listen(for readiness: Readiness) {
        guard let socket, let watch else { return }
        services.loop.change(watch, of: socket.descriptor, to: readiness)
    }

    /// Accepts the waiting peers once a token is available, or resets them if none is.
    ///
    /// A connection that was not accepted yet can be reset, so that its peer's read fails. One that was
    /// accepted could only be ended, and a peer that reads nothing but an end takes it for an empty token.
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
        // Peers at a socket that was opened meanwhile have a preparation of their own.
        guard socket.identity == identity else { return listen(for: .readable) }
        let metadata: Logger.Metadata = ["socket": "\(path)", "reason": "\(failure.message)"]
        logger.warning("no token for waiting peers", metadata: metadata)
        // Closing the socket resets the waiting peers.
        stopAccepting()
        do throws(SocketRecreationError) {
            try open(in: socket, path)
        } catch {
            _ = lose(path, error)
        }
    }

    /// Accepts a peer if its user is permitted, before any of its bytes are read.
    private func accept(_ descriptor: CInt) {
        let found = PeerCredentials(descriptor: descriptor)
        guard let peer = found, access.admits(peer.userID) else {
            let user = found.map { "\($0.userID)" } ?? "unknown"
            var metadata: Logger.Metadata = ["uid": "\(user)"]
            if let restrictedPath { metadata["socket"] = "\(restrictedPath)" }
            logger.warning("connection refused: another user", metadata: metadata)
            if unaskedSession == nil { close(descriptor) } else { delayClose(descriptor) }
            return
        }
        let peerSocket = PeerSocket(descriptor, loop: services.loop)
        let acceptedAt = Instant(nanoseconds: hardening_boot_clock())
        let caller = Caller(peer, socketPath: restrictedPath, acceptedAt: acceptedAt)
        let connection = Connection(caller, services, socket: peerSocket)
        guard services.register.admit(connection) else {
            logger.warning("connection refused: too many connections")
            if unaskedSession != nil {
                withExtendedLifetime(connection) { delayClose(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) }
            }
            return
        }
        if watchesSenders { connection.watchSender() }
        services.agent.connectionOpened(connection)
        do {
            if let unaskedSession {
                try connection.begin(answering: .bareToken(of: unaskedSession))
            } else {
                try connection.begin()
            }
        } catch {
            logger.warning("connection refused", metadata: ["reason": "\(error)"])
            connection.close()
        }
    }

    /// Leaves a connection open for a while, as its peer would take its end for an empty token.
    private func delayClose(_ descriptor: CInt) {
        guard descriptor >= 0 else { return }
        if withheld.count == Self.maximumWithheld { close(withheld.removeFirst().descriptor) }
        withheld.append((descriptor, 0))
    }

    private func closeDelayedConnections() {
        for place in withheld.indices { withheld[place].rounds += 1 }
        while let first = withheld.first, first.rounds >= Self.withheldRounds {
            close(withheld.removeFirst().descriptor)
        }
    }

    /// Makes sure that the socket's file is in place.
    ///
    /// ``Housekeeping`` calls it.
    ///
    /// - Returns: `true` if the agent can still be reached.
    func housekeep() -> Bool {
        closeDelayedConnections()
        guard let socket else { return false }
        guard let path = socket.path, !socket.isInPlace else { return true }
        return rebind(socket, path)
    }

    /// Recreates the socket's file, which is gone or replaced, unless another agent is listening there.
    ///
    /// Its directory may be gone too, as `$XDG_RUNTIME_DIR` is after a logout, and the sandbox does not let
    /// the agent create another. Then the socket moves to its reserve.
    private func rebind(_ lost: ListeningSocket, _ path: String) -> Bool {
        do throws(SocketRecreationError) {
            try open(in: lost, path)
            logger.warning("socket recreated")
            return true
        } catch {
            guard let reserve, reserve.path != path, !error.isTaken else { return lose(path, error) }
            do throws(SocketRecreationError) {
                try open(in: lost, reserve.path)
            } catch {
                return lose(path, error)
            }
            let metadata: Logger.Metadata = ["from": "\(path)", "to": "\(reserve.path)"]
            logger.warning("socket moved", metadata: metadata)
            reserve.onMove(reserve.path)
            return true
        }
    }

    /// Logs that the socket is lost.
    ///
    /// - Returns: `false`, as the agent cannot be reached.
    private func lose(_ path: String, _ loss: SocketRecreationError) -> Bool {
        logger.error("socket lost", metadata: ["socket": "\(path)", "reason": "\(loss.reason)"])
        return false
    }

    /// Opens a socket at `path` to replace `lost`.
    private func open(in lost: ListeningSocket, _ path: String) throws(SocketRecreationError) {
        let mode = restrictedPath == nil ? nil : lost.mode
        do {
            try start(on: try ListeningSocket.bind(to: path, mode: mode, group: lost.group))
        } catch let failure as ListenFailure {
            throw SocketRecreationError(reason: "\(failure)", isTaken: failure == .alreadyRunning(path: path))
        } catch {
            throw SocketRecreationError(reason: "\(error)", isTaken: false)
        }
    }

    /// Stops accepting and removes the socket's file.
    ///
    /// Open connections continue.
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
