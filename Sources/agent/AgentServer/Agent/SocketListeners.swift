// SPDX-License-Identifier: MIT

import Logging

/// All sockets of the agent: its own, and the restricted ones of the configuration.
///
/// - Entry points: ``start(on:)``, ``adopt(_:)``, ``housekeep()``.
/// - Runs on: the event loop, to which it is confined.
final class SocketListeners: @unchecked Sendable {
    // Unchecked: after `init` used on the event loop alone.
    private let logger: Logger
    private let services: ConnectionServices
    private let own: SocketListener
    private var wanted: [RestrictedSocket] = []
    private var access = PermittedUsers()
    private var restricted: [String: (file: RestrictedSocket.FileProperties, listener: SocketListener)] = [:]
    /// The sockets that could not be opened, with the reasons, so that each is logged once.
    private var failed: [String: String] = [:]

    init(
        loop: AgentLoop,
        agent: any HTTPRequestServing,
        logger: Logger,
        reserve: FallbackSocket?
    ) {
        self.logger = logger
        let register = ConnectionRegister(limits: .ofThisProcess)
        services = ConnectionServices(
            loop: loop,
            agent: agent,
            limits: RequestLimits(),
            register: register
        )
        own = SocketListener(services: services, logger: logger, reserve: reserve)
    }

    /// Whether any connection is open.
    var areInUse: Bool { services.register.count > 0 }

    /// The number of times a connection was opened or closed while many were open, since the start.
    var burstChanges: Int { services.register.burstChanges }

    /// The closure that is called when a first connection arrives.
    var onFirstConnection: () -> Void {
        get { services.register.onFirst }
        set { services.register.onFirst = newValue }
    }

    /// Starts to accept on the agent's own socket.
    func start(on socket: ListeningSocket) throws(PollFailure) {
        try own.start(on: socket)
    }

    /// Opens new sockets, closes removed ones, and applies the permitted users.
    func adopt(_ configuration: AgentConfiguration) {
        access.allowsRoot = configuration.allowsRoot
        own.access = access
        let watchesSenders = AllowRuleSummary(configuration).exist
        if watchesSenders, !own.watchesSenders { services.register.watchSenders() }
        own.watchesSenders = watchesSenders
        wanted = configuration.sockets
        failed = [:]
        for (path, open) in restricted where !wanted.contains(where: { $0.file == open.file }) { close(path) }
        openWanted()
    }

    /// The sockets that cannot be opened.
    var unopened: [SocketOpenFailure] { failed.sorted { $0.key < $1.key }.map(SocketOpenFailure.init) }

    /// Closes unused connections and makes sure that the sockets are in place.
    ///
    /// ``Housekeeping`` calls it.
    ///
    /// - Returns: `true` if the agent can still be reached.
    func housekeep() -> Bool {
        services.register.closeUnused()
        for (path, open) in restricted where !open.listener.housekeep() { close(path) }
        // A socket that could not be opened may work by now.
        openWanted()
        return own.housekeep()
    }

    /// Stops accepting.
    ///
    /// Only active responses continue.
    func stopAccepting() {
        wanted = []
        own.stopAccepting()
        for open in restricted.values { open.listener.stopAccepting() }
        services.register.closeIdle()
    }

    func closeConnections() {
        services.register.closeAll()
    }

    private func openWanted() {
        for socket in wanted {
            if restricted[socket.path] == nil { open(socket) }
            restricted[socket.path]?.listener.watchesSenders = own.watchesSenders
            restricted[socket.path]?.listener.unaskedSession = socket.unaskedSession
            restricted[socket.path]?.listener.access = PermittedUsers(
                allowsRoot: access.allowsRoot,
                users: socket.users
            )
        }
    }

    private func open(_ socket: RestrictedSocket) {
        do {
            let listening = try ListeningSocket.bind(to: socket.path, mode: socket.mode, group: socket.group)
            let listener = SocketListener(services: services, logger: logger, restrictedPath: socket.path)
            try listener.start(on: listening)
            restricted[socket.path] = (socket.file, listener)
            failed[socket.path] = nil
        } catch {
            guard failed.updateValue("\(error)", forKey: socket.path) == nil else { return }
            logger.error(
                "cannot open a socket; a new directory requires a restart of the agent",
                metadata: ["socket": "\(socket.path)", "reason": "\(error)"]
            )
        }
    }

    private func close(_ path: String) {
        guard let open = restricted.removeValue(forKey: path) else { return }
        open.listener.stopAccepting()
        open.listener.closeConnections()
    }
}
