// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// A socket of this process that ssh forwards to another host, for tokens of some sessions.
///
/// For each connection this process opens one to the agent, and the agent restricts it to these sessions
/// before any byte of the other host is relayed. So the agent enforces the rules, regardless of what the
/// other host sends.
struct ForwardedSocket: ~Copyable {
    /// The maximum number of simultaneous connections; more wait.
    private static let maximumConnections = 64
    /// The maximum number of connections that wait to be accepted.
    private static let backlog: Int32 = 64
    /// The suffix that ssh appends to the path of its control socket while creating it.
    private static let controlSuffix = ".XXXXXXXXXXXXXXXX"

    private let directory: LockedTemporaryDirectory
    private var listener: Int32
    private let endpoint: AgentEndpoint
    private let sessions: [String]
    private let host: String
    private var connections: [RelayedConnection] = []

    /// The path of the socket that ssh forwards.
    var path: String { directory.path + "/sock" }
    /// The path at which ssh creates its control socket.
    var controlPath: String { directory.path + "/ssh" }

    /// Checks that the agent permits forwarding, then creates a socket in a new directory next to the
    /// agent's.
    ///
    /// - Parameters:
    ///   - endpoint: The agent, which connections through the socket never start.
    ///   - sessions: The names of the sessions.
    ///   - host: The name of the other host for the audit log.
    /// - Throws: ``AgentError`` of the agent if there is no such session or its socket does not permit
    ///   forwarding.
    init(_ endpoint: AgentEndpoint, _ sessions: [String], for host: String) throws(AgentError) {
        for session in sessions {
            do throws(AgentError) {
                let _: SessionMessage = try endpoint.message(AgentRequest(.get, "sessions", session))
            } catch {
                throw error.about(session)
            }
        }
        let running = AgentEndpoint(socket: endpoint.socket, mayStartAgent: false)
        close(try ForwardedSocket.connect(running, sessions, for: host))
        let socket = try endpoint.socketPath
        let own = socket.lastIndex(of: "/").map { String(socket[..<$0]) } ?? ""
        try PrivateDirectory.check(own)
        try PrivateDirectory.prepare(own + "/ssh")
        LockedTemporaryDirectory.removeLeftovers(in: own + "/ssh")
        let directory = try LockedTemporaryDirectory(in: own + "/ssh")
        try AgentPaths.checkSocketPath(directory.path + "/ssh" + ForwardedSocket.controlSuffix)
        listener = try ForwardedSocket.listen(at: directory.path + "/sock")
        self.directory = directory
        self.endpoint = running
        self.sessions = sessions
        self.host = host
    }

    deinit { if listener >= 0 { close(listener) } }

    /// Serves the other host until `child` exits, and relays signals to it.
    ///
    /// Then all connections are closed, including those that a program on the other host still holds, because
    /// ssh would wait for them.
    ///
    /// - Parameters:
    ///   - child: The ssh process.
    ///   - signals: The signals that this process receives.
    /// - Returns: The exit status of `child`.
    mutating func serve(until child: ChildProcess, _ signals: borrowing RelayedSignals) -> Int32 {
        let ended = hardening_open_process(child.pid)
        defer { if ended >= 0 { close(ended) } }
        // Interrupts poll(2) when the child has stopped itself, as ssh does at ~^Z.
        _ = signal(SIGCHLD) { _ in }
        while true {
            if hardening_has_stopped(child.pid) != 0 {
                // Stop too, so that the shell that started this process takes over.
                _ = raise(SIGSTOP)
                kill(child.pid, SIGCONT)
            }
            let hasRoom = connections.count < ForwardedSocket.maximumConnections
            var wanted = [ended, signals.descriptor, hasRoom ? listener : -1].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            wanted += connections.flatMap(\.wanted)
            _ = unsafe poll(&wanted, nfds_t(wanted.count), -1)
            signals.pass(to: child)
            if wanted[0].revents != 0 {
                end()
                return child.wait()
            }
            if wanted[2].revents != 0 { accept() }
            connections.removeAll { !$0.move() }
        }
    }

    /// Closes the socket and all connections.
    private mutating func end() {
        close(listener)
        listener = -1
        connections = []
    }

    /// Accepts the next connection; without an agent it is closed at once, so that its client finds no agent.
    private mutating func accept() {
        let taken = hardening_accept(listener)
        guard taken >= 0 else { return }
        do throws(AgentError) {
            let agent = try ForwardedSocket.connect(endpoint, sessions, for: host)
            connections.append(RelayedConnection(host: taken, agent: agent))
        } catch {
            close(taken)
        }
    }

    private static func connect(
        _ endpoint: AgentEndpoint,
        _ sessions: [String],
        for host: String
    ) throws(AgentError) -> Int32 {
        let agent = try endpoint.connect()
        return try agent.restricted(to: sessions, for: host)
    }

    private static func listen(at path: String) throws(AgentError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw failure("cannot create a socket") }
        var address = sockaddr_un(path: path)
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, unsafe chmod(path, 0o600) == 0, Glibc.listen(descriptor, backlog) == 0 else {
            let failure = failure("cannot listen at \(path)")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    private static func failure(_ what: String) -> AgentError {
        AgentError(.internal, "\(what): \(systemMessage(errno))")
    }
}
