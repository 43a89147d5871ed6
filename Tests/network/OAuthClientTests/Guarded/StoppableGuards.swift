// SPDX-License-Identifier: MIT

import CHardening
import CommandExecution
import ExchangeGuard
import Glibc
import Synchronization
import TestSupport
import Threads

/// Starts the real guard for each exchange, as the runner does, and may have it stop before it reads anything.
final class StoppableGuards: Sendable {
    /// Where a transport asks.
    let door: GuardStarterConnection
    private let socket: Int32
    private let stopped: Bool
    private let guards: Mutex<[pid_t]> = Mutex([])

    init(stopped: Bool = false) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
        door = GuardStarterConnection(socket: ends[0])
        socket = ends[1]
        self.stopped = stopped
        // It ends when nobody can ask any more.
        try SystemThread { [weak self, socket] in
            while let end = Self.nextEnd(socket) {
                self?.start(end)
                close(end)
            }
            close(socket)
        }.detach()
    }

    deinit {
        for pid in guards.withLock({ $0 }) {
            kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }
    }

    private static func nextEnd(_ socket: Int32) -> Int32? {
        var word: UInt8 = 0
        var end: Int32 = -1
        var count: Int32 = 1
        guard hardening_receive_descriptors(socket, &word, 1, &end, &count) > 0, count == 1 else {
            return nil
        }
        return end
    }

    private func start(_ end: Int32) {
        let program = "\(BuiltPrograms.directory)/tokenagent-runner"
        // Bash stops itself, then becomes the guard.
        let script = "kill -STOP $$; exec -a \(ExchangeGuard.name) \"$0\""
        let pid = try? ProgramStart(
            executable: stopped ? "/bin/bash" : program,
            arguments: stopped ? ["bash", "-c", script, program] : [ExchangeGuard.name],
            environment: [:],
            descriptors: [ExchangeGuard.agentDescriptor: end],
            placement: .ownSession
        ).start()
        guards.withLock { $0 += pid.map { [$0] } ?? [] }
    }

    /// Stops those that wait for something, which they do as soon as the request is out.
    ///
    /// One that is stopped before it has taken its alarm back is killed by it, whatever the server says.
    func stop() {
        for pid in guards.withLock({ $0 }) {
            while File.text("/proc/\(pid)/stat")?.contains(") R ") == true { sched_yield() }
            kill(pid, SIGSTOP)
        }
    }

    /// Lets one that has stopped go on, once there is one.
    func goOn() async throws {
        let pid = try await Polling.value {
            self.guards.withLock { $0 }.first { File.text("/proc/\($0)/stat")?.contains(") T ") == true }
        }
        if let pid { kill(pid, SIGCONT) }
    }
}
