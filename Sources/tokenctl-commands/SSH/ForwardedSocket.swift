// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// A socket of this process that ssh forwards to another host, with the sessions whose tokens may be had through it.
///
/// Each connection to it becomes one to the agent that the agent itself limits to these sessions, before anything of
/// the other host goes there. So the rules are the agent's, and they hold whatever is sent.
struct ForwardedSocket: ~Copyable {
    /// Connections at a time; more wait.
    private static let mostConnections = 64
    /// Connections that wait to be taken.
    private static let backlog: Int32 = 64
    /// What ssh adds to the path of its control socket while it makes it.
    private static let controlSuffix = ".XXXXXXXXXXXXXXXX"

    private let directory: LockedDirectory
    private var listener: Int32
    private let endpoint: AgentEndpoint
    private let sessions: [String]
    private let host: String
    private var connections: [RelayedConnection] = []

    /// Where ssh finds the socket.
    var path: String { directory.path + "/sock" }
    /// Where ssh makes a socket of its own, which controls the connection.
    var controlPath: String { directory.path + "/ssh" }

    /// Checks that the agent lends a connection, then makes a socket in a new directory beside the agent's.
    ///
    /// - Parameters:
    ///   - endpoint: the agent, which is not started by what comes through the socket.
    ///   - sessions: their names.
    ///   - host: the other host, as the audit log names it.
    /// - Throws: ``AgentError``: the agent's own if there is no such session, or it lends nothing at this socket.
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
        LockedDirectory.removeLeftovers(in: own + "/ssh")
        let directory = try LockedDirectory(in: own + "/ssh")
        try AgentPaths.checkSocketPath(directory.path + "/ssh" + ForwardedSocket.controlSuffix)
        listener = try ForwardedSocket.listen(at: directory.path + "/sock")
        self.directory = directory
        self.endpoint = running
        self.sessions = sessions
        self.host = host
    }

    deinit { if listener >= 0 { close(listener) } }

    /// Serves the other host until `child` ends, passing signals on to it; answers its exit status.
    ///
    /// Then every connection is ended, also one that a program there still holds: ssh would wait for it.
    mutating func serve(until child: ChildProcess, _ signals: borrowing RelayedSignals) -> Int32 {
        let ended = hardening_open_process(child.pid)
        defer { if ended >= 0 { close(ended) } }
        // Ends the wait when the child has stopped itself, as ssh does at ~^Z.
        _ = signal(SIGCHLD) { _ in }
        while true {
            if hardening_has_stopped(child.pid) != 0 {
                // So that the shell which started this process takes over.
                _ = raise(SIGSTOP)
                kill(child.pid, SIGCONT)
            }
            let hasRoom = connections.count < ForwardedSocket.mostConnections
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

    /// Takes no more connections, and ends those there are.
    private mutating func end() {
        close(listener)
        listener = -1
        connections = []
    }

    /// Takes the next connection; without an agent it is closed again, so that its user sees none.
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
        guard descriptor >= 0 else { throw failure("socket") }
        var address = sockaddr_un(path: path)
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, unsafe chmod(path, 0o600) == 0, Glibc.listen(descriptor, backlog) == 0 else {
            let failure = failure(path)
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    private static func failure(_ what: String) -> AgentError {
        AgentError(.internal, "\(what): \(systemMessage(errno))")
    }
}
