// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// Starts a process for each exchange of the agent, which must not start any itself.
///
/// The process is this very program under another name. It gets one descriptor, with which the agent can reach it and nobody
/// else, and neither the environment nor the terminal, and it outlives the agent and this process.
package struct GuardStarts: Sendable {
    private let door: Int32
    private let name: String
    private let descriptor: Int32

    /// The descriptor at which the agent asks.
    package static let agentDescriptor: Int32 = 4

    /// - Parameters:
    ///   - door: where the agent sends one end of a socket pair for each process it wants.
    ///   - name: what such a process is called.
    ///   - descriptor: where it finds that end.
    package init(door: Int32, name: String, descriptor: Int32) {
        self.door = door
        self.name = name
        self.descriptor = descriptor
    }

    /// Begins to serve, on a thread of its own.
    package func begin() {
        guard CommandRunnerProcess.isAgent(at: door) else { return }
        // No program inherits it, as that would keep the agent from seeing that we are gone.
        _ = fcntl(door, F_SETFD, FD_CLOEXEC)
        startThread { serve() }
    }

    private func serve() {
        while true {
            var word: UInt8 = 0
            var end: Int32 = -1
            var count: Int32 = 1
            guard unsafe hardening_receive_descriptors(door, &word, 1, &end, &count) > 0 else { return }
            guard count == 1 else { continue }
            // Starting a process takes longer than asking for it, and somebody has to wait for its end.
            startThread { [end] in start(end) }
        }
    }

    /// The agent learns from the end of its socket that there is no process.
    private func start(_ end: Int32) {
        let start = ProgramStart(
            executable: ProcessEnvironment.executable,
            arguments: [name],
            environment: [:],
            descriptors: [descriptor: end],
            placement: .ownSession,
            directory: "/"
        )
        let process = try? start.start()
        close(end)
        if let process { _ = hardening_await(process) }
    }
}
