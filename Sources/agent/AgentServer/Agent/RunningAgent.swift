// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix

/// A complete running agent: event loop, store thread, sessions and sockets.
///
/// - Entry points: ``start(on:)``, ``requestStop()``, ``shutdown()``.
/// - Runs on: any task; the agent itself runs on the event loop.
package final class RunningAgent: Sendable {
    package let agent: SessionAgent
    private let loop: AgentLoop
    private let pool: NIOThreadPool
    private let listeners: SocketListeners
    private let housekeeping: Housekeeping
    private let ports: AgentPorts
    private let stopRequests: AsyncStream<Void>
    private let stopRequest: AsyncStream<Void>.Continuation

    /// The time for the last responses to reach their peers.
    private static let shutdownTimeout = TimeAmount.milliseconds(200)

    /// Creates an agent on `loop`, which ``shutdown()`` ends.
    package init(
        configuration: AgentConfiguration,
        ports: AgentPorts,
        identity: AgentDescription,
        auditFile: AuditFile? = nil,
        fileLedger: TokenFileLedger = TokenFileLedger(stateDirectory: nil),
        reserve: FallbackSocket? = nil,
        loop: AgentLoop
    ) {
        self.ports = ports
        self.loop = loop
        pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        stopRequests = stream
        stopRequest = continuation
        agent = SessionAgent(
            configuration: configuration,
            ports: ports,
            identity: identity,
            eventLoop: loop,
            pool: pool,
            auditFile: auditFile,
            fileLedger: fileLedger,
            onShutdownRequest: { continuation.yield() }
        )
        let listeners = SocketListeners(
            loop: loop,
            agent: RequestReceiver(agent: agent),
            logger: ports.logger,
            reserve: reserve
        )
        self.listeners = listeners
        let agent = agent
        housekeeping = Housekeeping(on: loop) {
            let isAtRest = agent.assumeIsolated { $0.housekeep(burstChanges: listeners.burstChanges) }
            if !listeners.housekeep() { continuation.yield() }
            return isAtRest && !listeners.areInUse
        }
    }

    /// Begins to serve; if the store must be unlocked first, its sessions follow later.
    ///
    /// - Throws: An error if the socket cannot be served.
    package func start(on socket: ListeningSocket) async throws {
        try await agent.begin { [self] configuration in
            // The other sockets come first, so that they exist once the agent's own socket responds.
            configuration.follow { [listeners] in
                listeners.adopt($0)
            } unopened: { [listeners] in
                listeners.unopened
            }
            try listeners.start(on: socket)
            // Deferred, because the start does not depend on it.
            loop.execute { [self] in
                watchRoutes()
                watchClock()
            }
            listeners.onFirstConnection = { [weak housekeeping] in housekeeping?.runSoon() }
            housekeeping.begin()
        }
    }

    /// Waits for the outcome of unlocking the store without the user.
    ///
    /// - Returns: Whether the store is unlocked.
    package func waitUntilOpened() async -> Bool {
        await agent.waitUntilOpened()
    }

    /// Runs the work of ``Housekeeping`` now, without waiting for its pause.
    func housekeep() async {
        try? await loop.submit { [housekeeping] in housekeeping.runNow() }.get()
    }

    /// Watches for the network's return; without routing messages, retries only follow their backoff.
    private func watchRoutes() {
        let isWatching = NetworkMonitor.start(on: loop) { [agent] in
            agent.assumeIsolated { $0.networkReturned() }
        }
        if !isWatching { ports.logger.info("network changes not monitored") }
    }

    /// Watches for steps of the wall clock; without the kernel's reports, housekeeping and requests detect
    /// them.
    private func watchClock() {
        let isWatching = ClockWatch.start(on: loop) { [agent] in
            agent.assumeIsolated { $0.parts.clocks.compare() }
        }
        if !isWatching { ports.logger.info("wall clock steps not monitored") }
    }

    /// Waits for a request to stop, over the socket or by ``requestStop()``.
    package func waitUntilStopRequested() async {
        for await _ in stopRequests { return }
    }

    /// Ends ``waitUntilStopRequested()``.
    ///
    /// Safe to call from any thread.
    func requestStop() {
        stopRequest.yield()
    }

    /// Finishes work in flight for at most 20 seconds, and releases everything; the runtime cannot be started
    /// again.
    package func shutdown() async {
        let listeners = listeners
        await agent.beginStopping()
        try? await loop.submit { listeners.stopAccepting() }.get()
        await agent.stop()
        try? await loop.scheduleTask(in: Self.shutdownTimeout) { listeners.closeConnections() }.futureResult
            .get()
        await loop.stop()
        try? await pool.shutdownGracefully()
        stopRequest.finish()
    }
}
