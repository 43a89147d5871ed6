// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

/// A program with its own terminal, at which the test acts as the user.
package final class ProgramAtTerminal: Sendable {
    private let master: Int32
    private let pid: pid_t
    private let seen = Mutex<[UInt8]>([])

    /// Starts `command` with exactly `environment` and the terminal as standard input, output and error.
    package init(_ command: [String], environment: [String: String]) throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        guard master >= 0, let name = ProgramAtTerminal.otherEnd(of: master) else {
            throw SystemFailure("open a terminal")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal opened by the leader of a new session becomes the session's controlling
        // terminal.
        posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        pid = try Program.spawn(command, environment, &actions, newSession: true)
    }

    /// Unlocks the program's end of the terminal and returns its path.
    private static func otherEnd(of master: Int32) -> String? {
        // The headers declare unlockpt(3) and ptsname(3) for GNU programs only, so this calls TIOCSPTLCK and
        // TIOCGPTN.
        var unlocked: Int32 = 0
        var number: UInt32 = 0
        guard ioctl(master, 0x4004_5431, &unlocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            return nil
        }
        return "/dev/pts/\(number)"
    }

    deinit {
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        close(master)
    }

    /// The output on the screen so far.
    package var screen: String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        return seen.withLock { seen in
            while true {
                let count = read(master, &buffer, buffer.count)
                guard count > 0 else { break }
                seen += buffer[..<count]
            }
            return String(decoding: seen, as: UTF8.self)
        }
    }

    /// Waits until the screen shows `text`, then types `answer` and the return key.
    package func type(_ answer: String, after text: String) async throws {
        guard try await Polling.until({ screen.contains(text) }) else {
            throw StuckProgram(name: "the program at the terminal", output: screen, error: "")
        }
        var rest = Array((answer + "\n").utf8)[...]
        // A terminal buffers about four thousand unread bytes.
        let isTyped = try await Polling.until {
            let count = unsafe rest.withUnsafeBytes { unsafe write(master, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) }
            // The output in the meantime must be read too.
            _ = screen
            return rest.isEmpty
        }
        guard isTyped else { throw SystemFailure("type") }
    }

    /// Waits until the screen shows `text`.
    package func shows(_ text: String) async throws -> Bool {
        try await Polling.until { screen.contains(text) }
    }
}
