// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// What the process does before the first token arrives.
package enum StartUp {
    package static func protect() {
        hardening_restore_environment()
        reserveStandardDescriptors()
        refuseInspection()
        _ = signal(SIGPIPE, SIG_IGN)
        // A file that may not grow (`ulimit -f`) is then an error with a message, not the end of the process.
        _ = signal(SIGXFSZ, SIG_IGN)
        // The agent goes on with what it began; only this process ends.
        _ = signal(SIGINT) { _ in _exit(130) }
    }

    /// Keeps a socket from becoming descriptor 1, where the token goes, when the caller closed that.
    ///
    /// The wrong access mode makes every read or write fail, as on the closed descriptor.
    private static func reserveStandardDescriptors() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Nobody reads tokens out of this process: no tracing, no core dump, no crash report with memory in it.
    private static func refuseInspection() {
        _ = hardening_refuse_inspection()
        for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            _ = signal(crash, SIG_DFL)
        }
    }
}
