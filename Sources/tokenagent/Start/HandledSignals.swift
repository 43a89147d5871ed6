// SPDX-License-Identifier: MIT

import AgentServer
import Glibc
import Logging
import Synchronization

/// The signals that the agent handles.
enum HandledSignals {
    /// Blocks the signals in all threads started later, so that ``SignalLoop`` can take them.
    static func block() {
        var wanted = set
        unsafe pthread_sigmask(SIG_BLOCK, &wanted, nil)
    }

    static var set: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { unsafe sigaddset(&set, signal) }
        return set
    }

    /// Waits for the next signal.
    static func next() -> Int32 {
        var wanted = set
        var number: Int32 = 0
        while unsafe sigwait(&wanted, &number) != 0 {}
        return number
    }
}

/// The main thread of a running agent, which handles signals.
struct SignalLoop {
    /// Whether the agent is stopping.
    ///
    /// The wait for a stop request then ends without a request.
    private static let isStopping = Atomic(false)

    let agent: RunningAssembly
    let serviceManager: ServiceManagerConnection
    let logger: Logger

    func run() -> Never {
        // A shutdown requested over the socket stops the agent in the same way as a signal.
        Task { [agent] in
            await agent.runtime.waitUntilStopRequested()
            if !SignalLoop.isStopping.load(ordering: .relaxed) { kill(getpid(), SIGTERM) }
        }
        while true {
            switch HandledSignals.next() {
            case SIGHUP: reload()
            case SIGUSR1: Task { [agent] in await agent.runtime.agent.lock() }
            default: stop()
            }
        }
    }

    private func reload() {
        Task { [agent, serviceManager, logger] in
            serviceManager.notify("RELOADING=1", "MONOTONIC_USEC=\(SignalLoop.monotonicMicroseconds)")
            do throws(RequestFailure) {
                try await agent.runtime.agent.reloadOnceUnlocked()
            } catch {
                logger.error("configuration not reloaded; the previous one stays active")
            }
            serviceManager.notify("READY=1")
        }
    }

    private func stop() {
        SignalLoop.isStopping.store(true, ordering: .relaxed)
        logger.notice("stopping")
        serviceManager.notify("STOPPING=1")
        Task { [agent] in
            await agent.stop()
            exit(0)
        }
        // Further signals have no effect: a request in flight may be the only way to get the response to a
        // used refresh token.
        while true { _ = HandledSignals.next() }
    }

    private static var monotonicMicroseconds: Int64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }
}
