// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// A running program whose output is collected until it exits, writes too much or exceeds its time limit.
package struct RunningProgram {
    /// The bytes that a program wrote; the caller wipes them, because they may contain a secret.
    package struct Output {
        package var standard: [UInt8] = []
        /// The first ``CommandLimits/errors`` bytes of standard error; the rest is read and discarded.
        package var errors: [UInt8] = []

        package init() {}
    }

    /// The program's name for messages, without arguments, which may contain more than a log should.
    let name: String
    let process: pid_t
    /// The reading end of the program's standard output.
    private let output: Int32
    /// The reading end of the program's standard error, which may contain anything and so never goes to the
    /// journal.
    private let errors: Int32

    /// Starts the program of `words` in a new process group.
    ///
    /// - Throws: ``ProgramFailure`` if no pipe can be created or the program cannot be executed.
    package static func start(
        _ words: [String],
        environment own: [String: String],
        inheriting environment: [String: String]
    ) throws(ProgramFailure) -> RunningProgram {
        let name = words.first ?? ""
        let output = try pipe(for: name)
        defer { close(output.write) }
        let errors: (read: Int32, write: Int32)
        do {
            errors = try pipe(for: name)
        } catch {
            close(output.read)
            throw error
        }
        defer { close(errors.write) }
        let start = ProgramStart(
            executable: name,
            arguments: words,
            environment: environment.merging(own) { $1 },
            descriptors: [1: output.write, 2: errors.write],
            placement: .ownGroup,
            directory: environment["HOME"]
        )
        do {
            return RunningProgram(
                name: name,
                process: try start.start(),
                output: output.read,
                errors: errors.read
            )
        } catch {
            close(output.read)
            close(errors.read)
            throw error
        }
    }

    private static func pipe(for name: String) throws(ProgramFailure) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe hardening_pipe(&ends) == 0 else {
            throw ProgramFailure(message: "cannot run \(name): \(unsafe String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    /// Collects the output until the program exits, then closes the descriptors.
    ///
    /// Background processes of the program may keep its output open, so only the exit of the program itself
    /// counts. On an error, the process group is killed.
    ///
    /// - Returns: The exit status, or 128 + signal number.
    /// - Throws: ``ProgramFailure`` if the program exceeds `timeLimit`, writes more than `limit` bytes or
    ///   cannot be watched.
    package func finish(
        within timeLimit: Duration,
        into collected: inout Output,
        atMost limit: Int = CommandLimits.output
    ) throws(ProgramFailure) -> Int32 {
        let deadline = RunningProgram.now + timeLimit
        let ended = hardening_open_process(process)
        defer {
            close(output)
            close(errors)
            if ended >= 0 { close(ended) }
        }
        do throws(ProgramFailure) {
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

    /// The number of reads of 4 KiB that empty a full pipe (pipe(7)).
    private static let readsOfPipe = 16

    /// The time since boot; `ContinuousClock` would link Swift's concurrency runtime into the runner.
    private static var now: Duration { .nanoseconds(hardening_boot_clock()) }

    private func collect(
        into collected: inout Output,
        atMost limit: Int,
        until deadline: Duration,
        ended: Int32
    ) throws(ProgramFailure) {
        var (outputIsOpen, errorsAreOpen, readsSinceEnd) = (true, true, 0)
        while true {
            var events = [
                pollfd(fd: outputIsOpen ? output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errorsAreOpen ? errors : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ended, events: Int16(POLLIN), revents: 0),
            ]
            let remaining = (deadline - RunningProgram.now).wholeMilliseconds
            guard remaining > 0 else {
                throw ProgramFailure(message: "\(name) timed out and was stopped")
            }
            let count = unsafe poll(&events, nfds_t(events.count), Int32(clamping: remaining))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ProgramFailure(message: "cannot wait for \(name)") }
            if events[0].revents != 0 {
                outputIsOpen = RunningProgram.readSome(
                    of: output,
                    into: &collected.standard,
                    atMost: limit + 1
                )
                guard collected.standard.count <= limit else {
                    throw ProgramFailure(message: "\(name) wrote more than \(limit / 1024) KiB")
                }
            }
            if events[1].revents != 0 {
                let limit = CommandLimits.errors
                errorsAreOpen = RunningProgram.readSome(of: errors, into: &collected.errors, atMost: limit)
            }
            // Everything that the program wrote is in the pipes when it exits; its children may continue to
            // write.
            guard events[2].revents != 0 else { continue }
            readsSinceEnd += 1
            if events[0].revents == 0 && events[1].revents == 0 || readsSinceEnd > Self.readsOfPipe { return }
        }
    }

    /// Reads available bytes and keeps them up to `limit` bytes in total.
    ///
    /// - Returns: Whether there may be more to read.
    private static func readSome(
        of descriptor: Int32,
        into collected: inout [UInt8],
        atMost limit: Int
    ) -> Bool {
        // Reserving space for everything at once avoids copies left behind by growing.
        if collected.isEmpty { collected.reserveCapacity(min(limit, CommandLimits.output)) }
        let count = unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { chunk in
            let count = unsafe read(descriptor, chunk.baseAddress, chunk.count)
            if count > 0 {
                unsafe collected.append(contentsOf: chunk[..<min(count, limit - collected.count)])
            }
            if let base = chunk.baseAddress { unsafe explicit_bzero(base, chunk.count) }
            return count
        }
        return count < 0 ? errno == EINTR : count > 0
    }

    /// Waits for the program to exit and returns its exit status, or 128 + signal number.
    private func reap() -> Int32 {
        hardening_await(process)
    }
}
