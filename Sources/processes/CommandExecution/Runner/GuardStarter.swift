// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The starter of a guard process for each exchange of the agent, which must not start processes itself.
///
/// A guard process is this program under another name. It gets one descriptor, through which only the agent
/// can reach it. It gets neither the environment nor the terminal, and it outlives the agent and this
/// process.
package struct GuardStarter: Sendable {
    private let door: Int32
    private let name: String
    private let descriptor: Int32

    /// The descriptor at which the agent requests guard processes.
    package static let agentDescriptor: Int32 = 4

    /// Creates a starter that serves requests at `door`.
    ///
    /// - Parameters:
    ///   - door: The socket at which the agent sends one end of a socket pair for each process it requests.
    ///   - name: The name of such a process.
    ///   - descriptor: The descriptor at which such a process finds its end.
    package init(door: Int32, name: String, descriptor: Int32) {
        self.door = door
        self.name = name
        self.descriptor = descriptor
    }

    /// Starts serving on a separate thread.
    package func begin() {
        guard CommandRunnerServer.isAgent(at: door) else { return }
        // No program may inherit the descriptor, because the agent could then not detect the end of this
        // process.
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
            // Starting a process takes longer than requesting it, and a thread has to wait for its exit.
            startThread { [end] in start(end) }
        }
    }

    /// Starts one guard process and waits for its exit.
    ///
    /// If it cannot be started, the end of its socket tells the agent so.
    private func start(_ end: Int32) {
        let start = ProgramStart(
            executable: CurrentProcess.executable,
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
