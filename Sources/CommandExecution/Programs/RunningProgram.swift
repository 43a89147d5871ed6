// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// A started program whose standard output is being collected until it ends, writes too much or takes too long.
struct RunningProgram {
    /// For messages; the arguments are not shown, because they may say more than a log should.
    let name: String
    let process: pid_t
    /// Our end of the program's standard output.
    let output: Int32

    /// Starts the program of `words` in a process group of its own.
    static func start(
        _ words: [String],
        environment own: [String: String],
        inheriting environment: [String: String]
    ) throws(ProgramFailure) -> RunningProgram {
        let name = words.first ?? ""
        var ends: [Int32] = [-1, -1]
        guard unsafe hardening_pipe(&ends) == 0 else {
            throw ProgramFailure(message: "cannot run \(name): \(unsafe String(cString: strerror(errno)))")
        }
        defer { close(ends[1]) }
        let start = ProgramStart(
            executable: name,
            arguments: words,
            environment: environment.merging(own) { $1 },
            descriptors: [1: ends[1], 2: 2],
            placement: .ownGroup,
            directory: environment["HOME"]
        )
        do {
            return RunningProgram(name: name, process: try start.start(), output: ends[0])
        } catch {
            close(ends[0])
            throw error
        }
    }

    /// Collects the output and answers the exit status; afterwards the program is gone and the descriptor closed.
    ///
    /// What was collected may be a secret: the caller wipes it, also after a failure.
    ///
    /// Processes that the program leaves in the background may keep its standard output open, so only the end
    /// of the program itself counts.
    func finish(
        within timeLimit: Duration,
        into collected: inout [UInt8],
        atMost limit: Int = CommandLimits.output
    ) throws(ProgramFailure) -> Int32 {
        let deadline = RunningProgram.now + timeLimit
        let ended = hardening_open_process(process)
        defer {
            close(output)
            if ended >= 0 { close(ended) }
        }
        do {
            guard ended >= 0 else {
                let reason = unsafe String(cString: strerror(errno))
                throw ProgramFailure(message: "cannot watch \(name): \(reason)")
            }
            try collect(into: &collected, atMost: limit, until: deadline, ended: ended)
        } catch {
            kill(-process, SIGKILL)
            _ = reap()
            throw error
        }
        return reap()
    }

    /// `ContinuousClock` tells the same, and would bring all that runs Swift's tasks into the runner.
    private static var now: Duration { .nanoseconds(hardening_boot_clock()) }

    private func collect(
        into collected: inout [UInt8],
        atMost limit: Int,
        until deadline: Duration,
        ended: Int32
    ) throws(ProgramFailure) {
        var isOpen = true
        while true {
            var events = [
                pollfd(fd: isOpen ? output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ended, events: Int16(POLLIN), revents: 0),
            ]
            let remaining = (deadline - RunningProgram.now).wholeMilliseconds
            guard remaining > 0 else {
                throw ProgramFailure(message: "\(name) took too long and was stopped")
            }
            let count = unsafe poll(&events, 2, Int32(clamping: remaining))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ProgramFailure(message: "cannot wait for \(name)") }
            if events[0].revents != 0 { isOpen = try readSome(into: &collected, atMost: limit) }
            // Everything the program wrote is in the pipe by the time it has ended.
            if events[1].revents != 0, events[0].revents == 0 { return }
        }
    }

    /// Reads what is there.
    /// - Returns: whether there may be more.
    private func readSome(into collected: inout [UInt8], atMost limit: Int) throws(ProgramFailure) -> Bool {
        // Room for all of it at once, so that growing leaves no copies behind.
        let step = 4096
        if collected.isEmpty { collected.reserveCapacity(min(limit, CommandLimits.output) + step) }
        let count = unsafe withUnsafeTemporaryAllocation(byteCount: step, alignment: 16) { chunk in
            let count = unsafe read(output, chunk.baseAddress, chunk.count)
            if count > 0 { unsafe collected.append(contentsOf: chunk[..<count]) }
            if let base = chunk.baseAddress { unsafe explicit_bzero(base, chunk.count) }
            return count
        }
        if count < 0 { return errno == EINTR }
        guard collected.count <= limit else {
            throw ProgramFailure(message: "\(name) wrote more than \(limit / 1024) KiB")
        }
        return count > 0
    }

    /// Waits for the program's end and answers its exit status, or 128 + signal number.
    private func reap() -> Int32 {
        hardening_await(process)
    }
}
