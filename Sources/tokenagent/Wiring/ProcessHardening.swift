// SPDX-License-Identifier: MIT

import CHardening
import Confinement
import Glibc
import Logging

/// What this process gives up, step by step.
enum ProcessHardening {
    /// In every form of start, before anything else.
    static func begin() {
        hardening_restore_crash_signals()
        guard hardening_fill_standard_descriptors() == 0 else { exit(1) }
    }

    /// Why this process should not run at all: it has more rights than the person who started it knows of.
    static func objection(allowsRoot: Bool) -> String? {
        if hardening_has_borrowed_privileges() != 0 {
            return "it must not be set-uid, set-gid or have capabilities"
        }
        if geteuid() == 0, !allowsRoot, unsafe getenv("SUDO_UID") != nil {
            return
                "started by sudo it would keep the sessions of root; run it as yourself, or pass --allow-root"
        }
        return nil
    }

    /// Where secrets are held: no core dumps, no debugger, memory closed to the user's other processes.
    static func refuseInspection() throws(StartFailure) {
        guard hardening_refuse_inspection() == 0 else { throw .system("refuse to be inspected") }
        signal(SIGPIPE, SIG_IGN)
        // A file that may not grow (`ulimit -f`) is like a full disk: an error to report, not the end.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// In the agent, once the process that runs commands exists: nothing it starts or becomes gains any right.
    static func refuseNewRights() throws(StartFailure) {
        // Not earlier: files that commands write get the person's mask, not ours.
        _ = umask(0o077)
        guard hardening_refuse_new_privileges() == 0 else { throw .system("give up new privileges") }
        // Only root has any. A service manager may forbid giving them up, but then it has taken them itself.
        _ = hardening_drop_capabilities()
        // Kernels before 6.3 do not know this one.
        _ = hardening_refuse_writable_code()
        raiseDescriptorLimit()
    }

    /// In the agent, with its files open and before a second thread starts: closes off what it does not need.
    static func confine(to files: FileRules, _ logger: Logger) -> ConfinementReport {
        let report = Confinement.enter(files)
        for gap in report.gaps { logger.warning("not confined as it should be", metadata: ["gap": "\(gap)"]) }
        return report
    }

    /// Enough for thousands of requests that wait for one refresh; more than this is a flood.
    private static let descriptors: rlim_t = 8192

    /// A shell's usual soft limit of 1,024 is for programs that use `select`, which this one does not.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, descriptors))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
