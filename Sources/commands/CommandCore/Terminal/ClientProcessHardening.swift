// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The protections of a process that are applied before it receives the first token.
package enum ClientProcessHardening {
    /// Protects this process before it receives a secret, and sets its signal handlers.
    package static func protect() {
        hardening_restore_environment()
        reserveStandardDescriptors()
        refuseInspection()
        _ = signal(SIGPIPE, SIG_IGN)
        // Exceeding a file size limit (`ulimit -f`) then fails with an error instead of ending the process.
        _ = signal(SIGXFSZ, SIG_IGN)
        // Ctrl-C ends only this process; the agent finishes its current work.
        _ = signal(SIGINT) { _ in _exit(130) }
    }

    /// Reserves closed standard descriptors, so that no socket becomes descriptor 1, where the token is
    /// written.
    ///
    /// The wrong access mode makes every read or write fail, as on a closed descriptor.
    private static func reserveStandardDescriptors() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Prevents other processes from reading tokens here: disables tracing, core dumps and crash reports with
    /// memory.
    private static func refuseInspection() {
        _ = hardening_refuse_inspection()
        for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            _ = signal(crash, SIG_DFL)
        }
    }
}
