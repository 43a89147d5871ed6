// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CWipingAllocator
import Confinement
import Glibc
import TokenProxy

/// Stands between programs and one server each, and adds the token that they do not have.
///
/// It knows the agent's socket and nothing else of ours: `tokenctl proxy` hands it the tables, it never opens the
/// configuration, and what it holds are access tokens.
enum TokenagentProxy {
    static func run() -> Never {
        hardening_restore_crash_signals()
        guard hardening_fill_standard_descriptors() == 0, hardening_refuse_inspection() == 0 else { exit(1) }
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // Sockets get no more than the permissions 0600.
        _ = umask(0o177)
        raiseDescriptorLimit()
        do throws(AgentError) {
            let program = try ProxyProgram()
            confine(program)
            program.run()
        } catch {
            tell("\(error)")
            exit(error.code.exitStatus)
        }
    }

    /// Gives up what it does not need, before there is a second thread.
    private static func confine(_ program: ProxyProgram) {
        guard hardening_refuse_new_privileges() == 0 else {
            tell("cannot disable new privileges")
            exit(1)
        }
        // Only root has any, and a kernel before 6.3 does not know the other one.
        _ = hardening_drop_capabilities()
        _ = hardening_refuse_writable_code()
        let rules = FileRules(
            readable: FileRules.namesAndCertificates,
            writable: ["/dev/null"],
            socketDirectories: program.socketDirectories
        )
        for gap in Confinement.enter(rules).gaps { tell("sandbox incomplete: \(gap)") }
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 8192))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static func tell(_ line: String) {
        let bytes = Array("tokenagent-proxy: \(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

TokenagentProxy.run()
