// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc

/// A child process of a command: the agent, its configuration check or a browser.
package struct ChildProcess {
    /// The target of a standard stream of the child.
    package enum Stream {
        case inherited
        case null
        case descriptor(Int32)
    }

    package let pid: pid_t

    /// Starts `program`, which is looked up in `PATH` if it contains no slash; no shell is involved.
    ///
    /// Descriptors of this process close on exec; those in `keeping` stay open under their numbers.
    ///
    /// - Throws: ``AgentError`` with the code `internal` if the program cannot be executed.
    package init(
        _ program: String,
        _ arguments: [String],
        input: Stream = .null,
        output: Stream = .inherited,
        error: Stream = .inherited,
        keeping: [Int32] = []
    ) throws(AgentError) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe ChildProcess.route(input, to: 0, O_RDONLY, &actions)
        unsafe ChildProcess.route(output, to: 1, O_WRONLY, &actions)
        unsafe ChildProcess.route(error, to: 2, O_WRONLY, &actions)
        for descriptor in keeping {
            // Duplicating a descriptor onto itself clears close-on-exec.
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor)
        }
        var attributes = ChildProcess.attributes()
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var argv = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe argv.indices { unsafe free(argv[index]) } }
        var started: pid_t = 0
        let result = unsafe posix_spawnp(&started, program, &actions, &attributes, &argv, environ)
        guard result == 0 else {
            throw AgentError(.internal, "cannot start \(program): \(systemMessage(result))")
        }
        pid = started
    }

    /// Waits for the process to exit.
    ///
    /// - Returns: The exit status, or 128 plus the signal number if a signal ended the process.
    package func wait() -> Int32 {
        let status = hardening_await(pid)
        return status < 0 ? 1 : status
    }

    private static func route(
        _ stream: Stream,
        to target: Int32,
        _ mode: Int32,
        _ actions: inout posix_spawn_file_actions_t
    ) {
        switch stream {
        case .inherited: break
        case .null: unsafe posix_spawn_file_actions_addopen(&actions, target, "/dev/null", mode, 0)
        case .descriptor(let descriptor):
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, target)
        }
    }

    /// Returns spawn attributes that restore the default action of the signals that this process ignores.
    private static func attributes() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        return attributes
    }
}
