// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import CHardening
import CWipingAllocator
import Confinement
import Glibc
import NIOCore
import NIOPosix
import OAuthClient
import SealedStore
import Text
import TokenCore

/// The diagnostics of the store, the memory, the clock, the configuration and servers.
struct Diagnostics: DiagnosticsProviding {
    /// The minimum free disk space: a refresh reserves 32 KiB and more, so below this the next ones may fail.
    private static let minimumFreeBytes: UInt64 = 1 << 20

    let control: StoreControl
    let configuration: ActiveConfiguration
    let servers: AuthorizationServers
    let confinement: ConfinementReport
    /// Whether memory could be locked at the start, when keys were created.
    let isMemoryLocked: Bool
    let timekeeper: any Timekeeper
    let eventLoop: any EventLoop

    func checks() async -> [DiagnosticCheck] {
        let (servers, leads) = await serverChecks()
        var checks = [vault()] + counter() + durability()
        checks += [space(), memory(), sandbox(), ClockCheck(timekeeper.wallTime, behind: leads).check]
        checks += control.problems.map(DiagnosticCheck.init)
        checks += ConfigurationDriftCheck(configuration: configuration).checks()
        return checks + providers() + servers
    }

    /// Checks all servers, and returns the time by which their clocks are ahead of this computer's.
    private func serverChecks() async -> ([DiagnosticCheck], clockLeads: [Duration]) {
        await withTaskGroup { group in
            let look = serverCheck
            for (place, sessions) in configuration.serverPlaces {
                group.addTask { await look.check(place, of: sessions) }
            }
            var checks: [DiagnosticCheck] = []
            var leads: [Duration] = []
            for await (check, lead) in group {
                checks.append(check)
                if let lead { leads.append(lead) }
            }
            return (checks, leads)
        }
    }

    /// Returns a note for each provider whose facts are old, with the sessions that use it.
    private func providers() -> [DiagnosticCheck] {
        let now = timekeeper.wallTime.secondsSince1970
        return configuration.providerAges.compactMap { age, sessions in
            age.note(at: now).map { note in
                DiagnosticCheck(
                    name: "provider \(age.name)",
                    verdict: .ok,
                    detail: note,
                    sessions: sessions
                )
            }
        }
    }

    func examine(
        _ place: ProbeTarget,
        caFile: String?
    ) async -> Result<ServerProbeMessage, RequestFailure> {
        await serverCheck.examine(place, caFile: caFile)
    }

    private var serverCheck: ServerCheck {
        ServerCheck(servers: servers, proxy: configuration.proxy, eventLoop: eventLoop)
    }

    /// The reason the last unlock failed, as the end of a sentence, or an empty string if the user must
    /// provide the secret.
    private var reason: String {
        switch control.lastRefusal {
        case nil, .secretNeeded, .locked: ""
        case let refusal?: "; \(refusal)"
        }
    }

    /// Returns the finding about the counter, or none if no counter is configured.
    private func counter() -> [DiagnosticCheck] {
        guard let value = control.store.counterValue else { return [] }
        if let problem = control.counter.problem {
            let remedy = Remedy.set("vault.rollback_counter to a program that works")
            return [DiagnosticCheck(name: "counter", verdict: .warning, detail: problem, remedy: remedy)]
        }
        let detail = "old copies of the store are rejected (\(value))"
        return [DiagnosticCheck(name: "counter", verdict: .ok, detail: detail)]
    }

    private func vault() -> DiagnosticCheck {
        switch control.store.state {
        case .unlocked: DiagnosticCheck(name: "vault", verdict: .ok, detail: "unlocked")
        // The agent creates the vault at its start.
        case .locked, .uninitialized:
            DiagnosticCheck(
                name: "vault",
                verdict: .warning,
                detail: "locked: no tokens are served or refreshed" + reason,
                remedy: control.lastRefusal?.remedy ?? .run("tokenctl unlock")
            )
        }
    }

    /// Returns one finding per session, as some sessions are hidden from some peers.
    private func durability() -> [DiagnosticCheck] {
        let pending = control.store.pendingSessions
        guard !pending.isEmpty else {
            return [DiagnosticCheck(name: "store", verdict: .ok, detail: control.store.stateDirectory)]
        }
        return pending.map { name in
            DiagnosticCheck(
                name: "store",
                verdict: .problem,
                detail: "not yet on disk: \(name)",
                remedy: .retry("after freeing disk space or correcting permissions"),
                sessions: [name]
            )
        }
    }

    private func space() -> DiagnosticCheck {
        var status = statvfs()
        guard unsafe statvfs(control.store.stateDirectory, &status) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            return DiagnosticCheck(
                name: "disk",
                verdict: .problem,
                detail: reason,
                remedy: .set("--state-dir to a directory that the agent can read")
            )
        }
        let isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
        // The file system may be provided by another program, which can report any numbers.
        let size = UInt64(status.f_frsize)
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: size)
        let free = overflow ? UInt64.max : bytes
        if isReadOnly {
            return DiagnosticCheck(
                name: "disk",
                verdict: .problem,
                detail: "mounted read-only: refreshes cannot be stored",
                remedy: .set("the mount to read-write, or --state-dir to another directory")
            )
        }
        guard free >= Diagnostics.minimumFreeBytes else {
            return DiagnosticCheck(
                name: "disk",
                verdict: .problem,
                detail: "\(free / 1024) KiB free: refreshes will stop",
                remedy: .retry("after freeing disk space")
            )
        }
        return DiagnosticCheck(name: "disk", verdict: .ok, detail: "\(free >> 20) MiB free")
    }

    private func memory() -> DiagnosticCheck {
        let locked = hardening_locked_kilobytes()
        guard locked <= 0 else {
            let wiping = wiping_allocator_is_active() == 1 ? ", freed memory is wiped" : ""
            return DiagnosticCheck(
                name: "memory",
                verdict: .ok,
                detail: "keys are in locked memory (\(locked) KiB)\(wiping)"
            )
        }
        // A locked agent has erased its keys and holds no memory for them.
        if isMemoryLocked, control.store.state != .unlocked {
            return DiagnosticCheck(
                name: "memory",
                verdict: .ok,
                detail: "no keys in memory; memory can be locked"
            )
        }
        return DiagnosticCheck(
            name: "memory",
            verdict: .warning,
            detail: "keys are not in locked memory and may be swapped out",
            remedy: .setAndRestart(
                "ulimit -l, or LimitMEMLOCK= in the unit, to a higher limit"
            )
        )
    }

    private func sandbox() -> DiagnosticCheck {
        guard !confinement.gaps.isEmpty else {
            return DiagnosticCheck(
                name: "sandbox",
                verdict: .ok,
                detail: "seccomp and Landlock active"
            )
        }
        return DiagnosticCheck(
            name: "sandbox",
            verdict: .warning,
            detail: confinement.gaps.map(\.description).joined(separator: "; "),
            remedy: .set("the kernel or container to allow seccomp and Landlock")
        )
    }
}

extension DiagnosticCheck {
    fileprivate init(_ problem: StoreProblem) {
        let isLoss = problem.kind == .unreadable || problem.kind == .missing || problem.kind == .rolledBack
        self.init(
            name: "record",
            verdict: .warning,
            detail: problem.description,
            remedy: isLoss ? problem.session.map { .run("tokenctl login \($0)") } : nil,
            sessions: problem.session.map { [$0] } ?? []
        )
    }
}
