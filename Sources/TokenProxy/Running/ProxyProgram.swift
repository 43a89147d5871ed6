// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import NIOCore
import NIOPosix

/// The program that listens: takes tables from whoever started it, and serves them until that one ends.
package struct ProxyProgram {
    /// Bytes of the tables: more than any configuration has.
    static let longestLine = 64 << 20

    /// The socket to `tokenctl`: standard input.
    private static let control: CInt = 0

    private let firstLine: [UInt8]
    private let socket: String
    private let owner: ConnectionOwner
    /// Directories in which sockets are made.
    package let socketDirectories: [String]

    /// Waits for the first tables.
    ///
    /// - Throws: ``AgentError`` if none come, or the kernel cannot be asked about connections.
    package init() throws(AgentError) {
        guard let line = ProxyProgram.readLine(), let message = ListenersMessage(parsing: line),
            let socket = message.socket
        else {
            throw AgentError(.badRequest, "this program is started by tokenctl proxy, not by hand")
        }
        guard let owner = ConnectionOwner() else {
            throw AgentError(
                .internal,
                "the kernel cannot be asked whose a connection is: \(systemMessage(errno))"
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

    /// Serves until the socket to `tokenctl` ends, and then ends the process.
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
        // The signals that a terminal sends to the whole group are tokenctl's to judge.
        for ignored in [SIGINT, SIGHUP, SIGQUIT] { signal(ignored, SIG_IGN) }
        // Like the end of tokenctl: the requests under way are answered.
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
        // Byte by byte: what follows the line is for the channel.
        while line.count < longestLine {
            let count = unsafe read(control, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            guard byte != 0x0A else { return line }
            line.append(byte)
        }
        return nil
    }
}
