// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import Synchronization
import Text

/// The process that runs other programs for the agent; it never has access to the agent's memory or store.
///
/// It is a separate executable, and small because it runs while the agent runs. It is started before the
/// agent holds any secret, and it ends when the agent's end of the socket closes.
///
/// - Entry points: ``serve()``; `CommandRunnerClient` is the agent's side of the socket.
/// - May not: run a command that is not in a ``CommandTable``, or keep a copy of a program's output.
/// - Runs on: one thread that reads frames, and separate threads for programs, reloads and digests.
@safe
package final class CommandRunnerServer: Sendable {
    private let socket: Int32
    private let environment: [String: String]
    /// The process groups of the running programs.
    private let running = Mutex<Set<pid_t>>([])
    /// The lock that keeps the frames of several threads apart.
    private let writing = Mutex(())
    /// Whether the agent has ended; waiting programs are then not started.
    private let hasEnded = Atomic(false)
    private let places = CountingGate(CommandLimits.concurrentCommands)
    private let examination = ProcessInspection()
    private let tables: CommandTables

    /// Creates the server for the agent at the other end of `socket`.
    ///
    /// - Parameters:
    ///   - socket: This process's end of the socket pair.
    ///   - environment: The environment that programs inherit.
    ///   - source: The program, with its arguments, that prints the ``CommandTable`` of the configuration.
    package init(socket: Int32, environment: [String: String], source: [String]) {
        self.socket = socket
        self.environment = environment
        tables = CommandTables(source: source, environment: environment)
    }

    /// The descriptor of this process's end of the socket.
    package static let agentDescriptor: Int32 = 3

    /// Returns whether `descriptor` is a socket, as it is if the agent started this process.
    package static func isAgent(at descriptor: Int32) -> Bool {
        var kind: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0
    }

    /// Serves requests until the agent ends, then terminates the running programs.
    package func serve() {
        while let frame = readFrame(), serve(frame) {}
        hasEnded.store(true, ordering: .releasing)
        running.withLock { groups in
            for group in groups { kill(-group, SIGTERM) }
        }
    }

    /// Handles one frame.
    ///
    /// - Returns: Whether the frame is valid at this point. If not, the sender is not our agent.
    private func serve(_ frame: [UInt8]) -> Bool {
        guard let kind = frame.first.flatMap(RunnerFrameKind.init) else { return false }
        let payload = Array(frame.dropFirst())
        switch kind {
        case .table:
            guard let table = CommandTable(encoded: payload) else { return false }
            return tables.begin(with: table)
        case .load:
            var reader = FrameReader(payload)
            guard let number: UInt64 = reader.integer(), reader.isAtEnd else { return false }
            // Loading must not queue behind programs: they may hang, and a reload is waiting for the result.
            startThread { [self] in load(number) }
        case .examine:
            guard let query = ProcessQuery(payload: payload) else { return false }
            answer(query)
        case .run:
            guard let request = CommandRequest(payload: payload) else { return false }
            inTurn { $0.run(request) }
        }
        return true
    }

    /// Runs `work` on a separate thread when a place is free; queries about processes do not wait behind
    /// programs.
    private func inTurn(_ work: @escaping @Sendable (CommandRunnerServer) -> Void) {
        startThread { [self] in
            places.enter()
            if !hasEnded.load(ordering: .acquiring) { work(self) }
            places.leave()
        }
    }

    private func load(_ number: UInt64) {
        let outcome: CommandReply.Outcome
        do throws(ProgramFailure) {
            outcome = .ended(status: 0, output: try tables.load())
        } catch {
            outcome = .failed(error)
        }
        let reply = CommandReply(number: number, outcome: outcome).frame
        writing.withLock { _ in writeAll(reply) }
    }

    /// Examines a process on this thread, or on a separate one if digests must be computed.
    ///
    /// Without digests that takes microseconds.
    private func answer(_ query: ProcessQuery) {
        guard !query.digested.isEmpty else { return examine(query) }
        startThread { [self] in examine(query) }
    }

    private func examine(_ query: ProcessQuery) {
        let outcome: CommandReply.Outcome
        if let facts = examination.facts(of: query.process, digesting: query.digested) {
            outcome = .ended(status: 0, output: facts.encoded)
        } else {
            outcome = .failed(ProgramFailure(message: "no process \(query.process)"))
        }
        let reply = CommandReply(number: query.number, outcome: outcome).frame
        writing.withLock { _ in writeAll(reply) }
    }

    private func run(_ request: CommandRequest) {
        // The output may be a secret and this process lives while the agent does, so no copy may remain.
        var output = RunningProgram.Output()
        defer {
            output.standard.wipe()
            output.errors.wipe()
        }
        let status: Result<Int32, ProgramFailure>
        do {
            let program = try RunningProgram.start(
                try tables.words(of: request),
                environment: request.environment,
                inheriting: environment
            )
            _ = running.withLock { $0.insert(program.process) }
            defer { _ = running.withLock { $0.remove(program.process) } }
            status = .success(try program.finish(within: request.timeLimit, into: &output))
        } catch {
            status = .failure(error)
        }
        var reply = CommandRunnerServer.frame(request.number, status, output)
        defer { reply.wipe() }
        writing.withLock { _ in writeAll(reply) }
    }

    /// Encodes the reply without copies of `output`, so that the caller can wipe the only one.
    private static func frame(
        _ number: UInt64,
        _ status: Result<Int32, ProgramFailure>,
        _ output: RunningProgram.Output
    ) -> [UInt8] {
        let outcome: CommandReply.Outcome =
            switch status {
            case .success(let status): .ended(status: status, output: output.standard)
            case .failure(let failure): .failed(failure)
            }
        return CommandReply(number: number, outcome: outcome, errors: output.errors).frame
    }

    private func readFrame() -> [UInt8]? {
        guard let header = readExactly(4) else { return nil }
        let count = header.reduce(0) { $0 << 8 | Int($1) }
        guard count <= CommandTable.maximumCount + 1 else { return nil }
        return readExactly(count)
    }

    private func readExactly(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(socket, buffer.baseAddress?.advanced(by: filled), count - filled)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return nil }
            filled += got
        }
        return bytes
    }

    private func writeAll(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe send(
                    socket,
                    buffer.baseAddress?.advanced(by: sent),
                    bytes.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            sent += count
        }
    }
}
