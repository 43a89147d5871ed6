// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CHardening
import CommandCore
import Glibc

/// Ends the agent.
struct ShutdownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shutdown",
        abstract: "End the agent after the refreshes in flight.",
        discussion: "Returns when the store is free for the next agent."
    )

    /// How long to wait for the agent: 30 s, longer than it lets refreshes in flight finish.
    private static let patience: Int64 = 30

    @OptionGroup var agent: AgentOptions

    func run() throws {
        var endpoint = agent.endpoint
        endpoint.mayStartAgent = false
        let about: AgentMessage = try endpoint.message(AgentRequest(.get))
        let lock = StoreLockFile(of: about.store)
        try endpoint.send(AgentRequest(.post, "shutdown"))
        guard lock.isFree(within: ShutdownCommand.patience) else {
            throw AgentError(
                .temporarilyUnavailable,
                "the agent is still stopping",
                remedy: "try again in a minute"
            )
        }
    }
}

/// The file that an agent holds locked as long as it uses its store.
private struct StoreLockFile: ~Copyable {
    /// Microseconds between two looks at the lock, which is free within milliseconds as a rule.
    private static let interval: UInt32 = 5000

    private let descriptor: Int32

    /// Opens the file while the agent holds it; if this process sees no store, there is nothing to wait for.
    init(of store: String?) {
        let path = store.map { $0 + "/lock" } ?? ""
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Waits at most `limit` seconds until no agent holds it, and answers whether none does.
    func isFree(within limit: Int64) -> Bool {
        let end = hardening_boot_clock() + limit * 1_000_000_000
        while descriptor >= 0, isHeld {
            guard hardening_boot_clock() < end else { return false }
            usleep(StoreLockFile.interval)
        }
        return true
    }

    /// A shared lock is refused while an agent has its own, and is given back at once.
    private var isHeld: Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return errno == EWOULDBLOCK }
        flock(descriptor, LOCK_UN)
        return false
    }
}
