// SPDX-License-Identifier: MIT

import CHardening
import Confinement
import Glibc
import Logging

/// The rights that this process gives up, step by step.
enum ProcessHardening {
    /// Runs in every form of start, before anything else.
    static func begin() {
        hardening_restore_crash_signals()
        guard hardening_fill_standard_descriptors() == 0 else { exit(1) }
    }

    /// Returns the reason this process must not run, or `nil` if it may.
    ///
    /// It must not have more rights than the user who started it expects.
    static func objection(allowsRoot: Bool) -> String? {
        if hardening_has_borrowed_privileges() != 0 {
            return "tokenagent must not be set-uid, set-gid or have capabilities"
        }
        if geteuid() == 0, !allowsRoot, unsafe getenv("SUDO_UID") != nil {
            return
                "refusing to run as root under sudo (set: --allow-root)"
        }
        return nil
    }

    /// Protects a process with secrets: no core dumps, no debugger, no access by the user's other processes.
    static func refuseInspection() throws(StartFailure) {
        guard hardening_refuse_inspection() == 0 else { throw .system("prevent inspection by debuggers") }
        signal(SIGPIPE, SIG_IGN)
        // A file size limit (`ulimit -f`) is like a full disk: an error to report, not the end of the
        // process.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Gives up the ability to gain rights, in the agent, once the process that runs commands exists.
    static func refuseNewRights() throws(StartFailure) {
        // Not earlier: files that commands write get the user's mask, not the agent's.
        _ = umask(0o077)
        guard hardening_refuse_new_privileges() == 0 else { throw .system("disable new privileges") }
        // Only root has capabilities. A service manager may forbid dropping them, but then it has removed
        // them itself.
        _ = hardening_drop_capabilities()
        // Kernels before 6.3 do not support this.
        _ = hardening_refuse_writable_code()
        raiseDescriptorLimit()
    }

    /// Enters the sandbox, in the agent, with its files open and before a second thread starts.
    static func confine(to files: FileRules, _ logger: Logger) -> ConfinementReport {
        let report = Confinement.enter(files)
        for gap in report.gaps { logger.warning("sandbox incomplete", metadata: ["gap": "\(gap)"]) }
        return report
    }

    /// The limit of descriptors: enough for thousands of requests that wait for one refresh.
    ///
    /// More is a flood.
    private static let descriptors: rlim_t = 8192

    /// Raises the soft limit: a shell's usual 1,024 is for programs that use `select`, which this one does
    /// not.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, descriptors))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
