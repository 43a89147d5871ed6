// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CHardening
import CommandCore
import Glibc

/// The command `shutdown`, which stops the agent.
struct ShutdownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shutdown",
        abstract: "Stop the agent after refreshes in flight finish.",
        discussion: "Returns when the store is free for the next agent."
    )

    /// The maximum time to wait for the agent, in seconds: longer than it lets refreshes in flight finish.
    private static let timeout: Int64 = 30

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var endpoint = agent.endpoint
        endpoint.mayStartAgent = false
        let about: AgentMessage = try endpoint.message(AgentRequest(.get))
        // If this process cannot see the store, there is nothing to wait for.
        let lock = about.store.flatMap { StoreLockFile(of: $0) }
        try endpoint.send(AgentRequest(.post, "shutdown"))
        guard lock?.isFree(within: ShutdownCommand.timeout) != false else {
            throw AgentError(
                .temporarilyUnavailable,
                "the agent is still stopping",
                remedy: .retry("in a minute")
            )
        }
    }
}

extension StoreLockFile {
    /// The interval between two checks of the lock, in microseconds; it is usually free within milliseconds.
    private static let interval: UInt32 = 5000

    /// Waits at most `limit` seconds until no agent holds the lock.
    ///
    /// - Returns: Whether the lock is free.
    fileprivate borrowing func isFree(within limit: Int64) -> Bool {
        let end = hardening_boot_clock() + limit * 1_000_000_000
        while isHeld {
            guard hardening_boot_clock() < end else { return false }
            usleep(StoreLockFile.interval)
        }
        return true
    }
}
