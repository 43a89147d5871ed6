// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import NIOCore
import NIOPosix

/// The proxy process, which serves the listeners of `[[proxy]]` and `[[endpoint]]`.
///
/// `tokenctl` starts the process, sends it tables over standard input, and ends it by closing that socket.
/// Requests get an access token of the agent (``CredentialProvider``) and are forwarded to an upstream
/// (``ProxiedExchange``), or are answered like the credential service of a cloud (``CloudCredentialService``).
///
/// - Entry points: ``init()``, which waits for the first tables, then ``run()``.
/// - May not: see refresh tokens, store tokens on disk, or read a connection of a user who is not allowed.
/// - Runs on: one event loop. Log lines are written on another thread.
package struct ProxyProgram {
    /// The maximum size of the tables, in bytes: more than any configuration has.
    static let maximumLineLength = 64 << 20

    /// The socket to `tokenctl`, which is standard input.
    private static let control: CInt = 0

    private let firstLine: [UInt8]
    private let socket: String
    private let owner: ConnectionUserLookup
    /// The directories in which sockets are created.
    package let socketDirectories: [String]

    /// Waits for the first tables.
    ///
    /// - Throws: ``AgentError`` if no tables arrive, or if the kernel cannot be queried about connections.
    package init() throws(AgentError) {
        guard let line = ProxyProgram.readLine(), let message = ListenersSetupMessage(parsing: line),
            let socket = message.socket
        else {
            throw AgentError(.badRequest, "this program is started by tokenctl proxy, not by hand")
        }
        guard let owner = ConnectionUserLookup() else {
            throw AgentError(
                .internal,
                "cannot determine the owner of connections: \(systemMessage(errno))"
            )
        }
        firstLine = line
        self.socket = socket
        self.owner = owner
        let places = (message.listeners ?? []).compactMap(\.listen) + [message.metrics].compactMap(\.self)
        socketDirectories = places.filter { $0.hasPrefix("/") }.compactMap { path in
            path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
        }
    }

    /// Serves until the socket to `tokenctl` closes, then exits.
    package func run() -> Never {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        let start = LoopBound((firstLine, socket, owner))
        loop.execute {
            let (line, socket, owner) = start.value
            let proxy = Proxy(agentSocket: socket, owner: owner, loop: loop, pool: pool)
            let control = ControlChannel(proxy: proxy) { exit(0) }
            ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(control)
                    }
                }
                .withConnectedSocket(ProxyProgram.control)
                .whenComplete { result in
                    guard case .success = result else { exit(1) }
                    control.apply(line)
                }
        }
        // A terminal sends these signals to the whole group. tokenctl decides what they mean.
        for ignored in [SIGINT, SIGHUP, SIGQUIT] { signal(ignored, SIG_IGN) }
        // SIGTERM acts like the end of tokenctl: active requests finish first.
        signal(SIGTERM) { _ in shutdown(ProxyProgram.control, Int32(SHUT_RD)) }
        while true {
            withExtendedLifetime((group, pool)) { _ = pause() }
        }
    }

    private static func readLine() -> [UInt8]? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        var status = stat()
        guard unsafe fstat(control, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        // Reading stops at the end of the line, because the rest of the input is for the channel.
        while line.count < maximumLineLength {
            let count = unsafe read(control, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            guard byte != 0x0A else { return line }
            line.append(byte)
        }
        return nil
    }
}
