// SPDX-License-Identifier: MIT

import CTesting
import Glibc
import Synchronization

/// The results of a finished program.
package struct ProgramResult: Equatable, Sendable {
    /// The exit status, or 128 plus the signal number.
    package var status: Int32
    package var standardOutput: String
    package var standardError: String

    /// The standard output without the final newline.
    package var line: String {
        standardOutput.hasSuffix("\n") ? String(standardOutput.dropLast()) : standardOutput
    }
}

/// A child process, which is killed when the last reference is released.
package final class Program: Sendable {
    package let pid: pid_t
    private let name: String
    private let outputs: TemporaryDirectory
    private let waitStatus = Mutex<Int32?>(nil)

    /// Starts `command` with exactly `environment`, `input` as its standard input, and no other file
    /// descriptors.
    ///
    /// With `hasTerminal` false the program cannot prompt the user who runs the tests.
    package init(
        _ command: [String],
        environment: [String: String],
        input: String = "",
        directory: String? = nil,
        hasTerminal: Bool = true
    ) throws {
        name = command.joined(separator: " ")
        outputs = try TemporaryDirectory(in: TemporaryDirectory.memory)
        try outputs.write(input, to: "in")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let appending = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 0, outputs.path("in"), O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputs.path("out"), appending, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, outputs.path("err"), appending, 0o600)
        testing_close_from(&actions, 3)
        let placement = directory.map { ["/usr/bin/env", "-C", $0] } ?? []
        pid = try Program.spawn(placement + command, environment, &actions, newSession: !hasTerminal)
    }

    static func spawn(
        _ command: [String],
        _ environment: [String: String],
        _ actions: inout posix_spawn_file_actions_t,
        newSession: Bool
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The test runner may ignore or block signals, which the program must not inherit.
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        // POSIX_SPAWN_SETSID, which the headers declare for GNU programs only.
        let session: Int16 = newSession ? 0x80 : 0
        let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | session
        posix_spawnattr_setflags(&attributes, flags)
        let arguments = command.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var pid: pid_t = 0
        let program = located(command[0], environment["PATH"] ?? "")
        let code = posix_spawnp(&pid, program, &actions, &attributes, arguments, variables)
        guard code == 0 else { throw SystemFailure("start \(command[0])", code: code) }
        return pid
    }

    /// Returns the path of a program in its own environment's search path.
    ///
    /// An interpreter looks for its library next to its own path, which may be another version than in this
    /// process's environment.
    private static func located(_ name: String, _ path: String) -> String {
        guard !name.contains("/") else { return name }
        let places = path.split(separator: ":").map { "\($0)/\(name)" }
        return places.first { access($0, X_OK) == 0 } ?? name
    }

    deinit {
        guard exitStatus == nil else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    package var standardOutput: String { File.text(outputs.path("out")) ?? "" }
    package var standardError: String { File.text(outputs.path("err")) ?? "" }

    /// The exit status, or 128 plus the signal number, or `nil` while the program runs.
    package var exitStatus: Int32? {
        waitStatus.withLock { status in
            if status == nil {
                var raw: Int32 = 0
                if waitpid(pid, &raw, WNOHANG) == pid {
                    status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + raw & 0x7F
                }
            }
            return status
        }
    }

    /// Sends a signal, unless the program has ended.
    package func signal(_ signal: Signal) {
        waitStatus.withLock { status in
            guard status == nil else { return }
            kill(pid, signal.number)
        }
    }

    /// Waits for the end of the program.
    ///
    /// After `limit` the program is killed and an error thrown.
    @discardableResult
    package func finish(within limit: Duration = .seconds(60)) async throws -> ProgramResult {
        let status = try await Polling.value(within: limit) { exitStatus }
        guard let status else {
            signal(.kill)
            throw StuckProgram(name: name, output: standardOutput, error: standardError)
        }
        return ProgramResult(status: status, standardOutput: standardOutput, standardError: standardError)
    }

    /// Waits until a whole line of standard output contains `text`, and returns that line.
    package func outputLine(
        containing text: String,
        within limit: Duration = .seconds(20)
    ) async throws
        -> String
    {
        let line = try await Polling.value(within: limit) {
            let output = standardOutput
            // The last line may still be incomplete.
            let end = output.utf8.lastIndex(of: UInt8(ascii: "\n")) ?? output.startIndex
            return output[..<end].split(separator: "\n").first { $0.contains(text) }.map(String.init)
        }
        guard let line else { throw StuckProgram(name: name, output: standardOutput, error: standardError) }
        return line
    }

    /// Returns whether a shell command exits with 0.
    ///
    /// Blocks the thread, for conditions that are not asynchronous.
    package static func succeeds(_ script: String) -> Bool {
        let environment = ["PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        guard let program = try? Program(["/bin/sh", "-c", script], environment: environment) else {
            return false
        }
        return program.waitStatus.withLock { status in
            var raw: Int32 = 0
            guard waitpid(program.pid, &raw, 0) == program.pid else { return false }
            status = raw
            return raw == 0
        }
    }

    /// Runs `command` to its end.
    package static func run(
        _ command: [String],
        environment: [String: String],
        input: String = "",
        directory: String? = nil,
        within limit: Duration = .seconds(60)
    ) async throws -> ProgramResult {
        try await Program(command, environment: environment, input: input, directory: directory)
            .finish(within: limit)
    }
}

/// An error: a program did not do in time what a test waits for.
package struct StuckProgram: Error, CustomStringConvertible {
    package var name: String
    package var output: String
    package var error: String

    package var description: String {
        "\(name) is stuck; it printed «\(output.suffix(2000))» and, as error, «\(error.suffix(2000))»"
    }
}
