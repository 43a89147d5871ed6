// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The checks of `tokenctl doctor`: first those of tokenctl, then the agent's own.
struct Doctor {
    let endpoint: AgentEndpoint

    func findings() -> [Finding] {
        let path: String
        do {
            path = try endpoint.socketPath
            try AgentPaths.checkSocketPath(path)
        } catch {
            return [Finding(.problem, "socket path", error.message, remedy: error.remedy)]
        }
        let (checks, about) = agent()
        let known = [socketPath(path)] + directory(of: path) + checks + ports(about)
        return known.contains { $0.name == "clock" } ? known : known + [clock()]
    }

    private func socketPath(_ path: String) -> Finding {
        Finding(
            .ok,
            "socket path",
            "\(path), \(path.utf8.count) of \(AgentPaths.maximumSocketPathLength) bytes"
        )
    }

    private func directory(of path: String) -> [Finding] {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return [] }
        let directory = String(path[..<slash])
        guard unsafe access(directory, F_OK) == 0 else {
            return [
                Finding(
                    .warning,
                    "socket directory",
                    "\(directory) does not exist yet (the agent creates it)"
                )
            ]
        }
        do throws(AgentError) {
            try PrivateDirectory.check(directory)
            return [Finding(.ok, "socket directory", "\(directory) is private")] + socketMode(path)
        } catch {
            guard !isSocketNamed else { return [sharedDirectory(directory)] }
            return [Finding(.problem, "socket directory", error.message, remedy: error.remedy)]
        }
    }

    /// Whether the user has named the socket, which may then be a `[[socket]]` that others can reach.
    private var isSocketNamed: Bool { endpoint.socket != nil || AgentPaths.namesSocket() }

    /// Checks the directory of a socket for other users too.
    private func sharedDirectory(_ directory: String) -> Finding {
        do throws(SocketDirectory.DirectoryError) {
            try SocketDirectory.check(directory, isOpenToOthers: true)
            return Finding(.ok, "socket directory", "\(directory) can be changed only by this user")
        } catch {
            return Finding(.problem, "socket directory", "\(error)", remedy: SocketDirectory.remedy)
        }
    }

    private func socketMode(_ path: String) -> [Finding] {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return [] }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            return [
                Finding(
                    .problem,
                    "socket",
                    "\(path) is not a socket of this user",
                    remedy: .run("rm \(path)")
                )
            ]
        }
        guard status.st_mode & 0o077 == 0 else {
            guard !isSocketNamed else { return [Finding(.ok, "socket", "other users may connect to it")] }
            return [
                Finding(
                    .warning,
                    "socket",
                    "other users may connect to it",
                    remedy: .run("chmod 600 \(path)")
                )
            ]
        }
        return [Finding(.ok, "socket", "only this user may connect")]
    }

    /// Checks that the clock is not before this release, which would make every certificate and token look
    /// invalid.
    private func clock() -> Finding {
        let now = DurationPhrase.rfc3339(WallClock.seconds)
        guard WallClock.seconds > 1_767_225_600 else {
            return Finding(.problem, "clock", "wrong time: \(now)", remedy: .set("the system clock"))
        }
        return Finding(.ok, "clock", now)
    }

    /// Checks the agent, and returns what it says of itself, or `nil` if it does not answer.
    private func agent() -> ([Finding], AgentMessage?) {
        var running = endpoint
        running.mayStartAgent = false
        do {
            var agent = try running.connect()
            let about: AgentMessage = try agent.message(AgentRequest(.get), timeout: .seconds(5))
            let findings = [reached(about), version(about), lock(about)] + otherStore(of: about)
            return (findings + ownChecks(&agent) + sessions(&agent), about)
        } catch {
            return (unreached(error), nil)
        }
    }

    /// Returns the agent's own checks; a locked agent reports why it could not be unlocked.
    private func ownChecks(_ agent: inout AgentConnection) -> [Finding] {
        do {
            let request = AgentRequest(.get, "doctor")
            let report: DoctorMessage = try agent.message(request, timeout: .seconds(60))
            return report.checks?.compactMap { Finding($0) } ?? []
        } catch {
            // A restricted socket, for a sandbox or another host, does not allow checks of the agent.
            guard error.code != .denied else {
                return [Finding(.ok, "agent's checks", "not allowed at this restricted socket")]
            }
            return [Finding(.problem, "agent's checks", error.message, remedy: error.remedy)]
        }
    }

    /// Returns a warning if there are no sessions, because other checks then have nothing to examine.
    private func sessions(_ agent: inout AgentConnection) -> [Finding] {
        let request = AgentRequest(.get, "sessions")
        let known: SessionsMessage? = try? agent.message(request, timeout: .seconds(60))
        return known?.sessions?.isEmpty == true ? [Doctor.noSessions] : []
    }

    private static let noSessions = Finding(
        .warning,
        "sessions",
        "none configured",
        remedy: SelectableSessions.remedy
    )

    private func unreached(_ error: AgentError) -> [Finding] {
        // The usual remedy is to run this very command.
        let remedy: Remedy? =
            error.code == .temporarilyUnavailable ? .run("tokenagent -k && tokenagent") : error.remedy
        let problem = Finding(.problem, "agent", error.message, remedy: remedy)
        guard error.code == .noAgent, let program = AgentStarter.executable else { return [problem] }
        guard endpoint.mayStartAgent, AgentStarter.isAllowed else { return [problem] + configuration() }
        let absence = Finding(
            .warning,
            "agent",
            "not running (tokenctl starts \(program) on demand)",
            remedy: .run("tokenagent")
        )
        return [absence] + store() + configuration()
    }

    /// Checks whether an agent could use the store.
    private func store() -> [Finding] {
        do throws(AgentError) {
            let run = try TokenagentRun(["--check-store"])
            guard run.status != 0 else { return [] }
            return [Finding(.problem, "store", run.failure.message, remedy: run.failure.remedy)]
        } catch {
            return [Finding(.problem, "store", error.message, remedy: error.remedy)]
        }
    }

    /// Checks whether an agent would start with the configuration.
    private func configuration() -> [Finding] {
        do {
            let report = try ConfigurationReport()
            guard !report.isGood else {
                return [Finding(.ok, "configuration", report.summary)]
                    + (report.message.sessions == 0 ? [Doctor.noSessions] : [])
            }
            let effect = report.isUsable ? "" : " (the agent cannot start until this is fixed)"
            return report.complaints.map { Finding(.problem, "configuration", $0 + effect) }
        } catch {
            return [Finding(.problem, "configuration", error.message, remedy: error.remedy)]
        }
    }

    /// Finds ports of configured listeners that another user owns and so receives the requests of programs.
    ///
    /// An agent that has not answered is not asked again.
    private func ports(_ about: AgentMessage?) -> [Finding] {
        let reader = ConfiguredListenersReader(
            endpoint: endpoint,
            agentFile: about?.configuration,
            asksAgent: false
        )
        let tables = try? reader.read()
        return (tables?.listeners ?? []).compactMap { table in
            guard let listen = table.listen, let owner = PortOwnerUIDLookup(listen)?.owner, owner != geteuid()
            else {
                return nil
            }
            let (kind, title) = (table.kind == .proxy ? "proxy" : "endpoint", table.name ?? "")
            return Finding(
                .problem,
                "port \(listen)",
                "in use by another user, uid \(owner)",
                remedy: .set("listen in [[\(kind)]] \(title)")
            )
        }
    }

    private func reached(_ about: AgentMessage) -> Finding {
        let process = about.pid.map { "process \($0), " } ?? ""
        let uptime = about.uptime.map(DurationPhrase.short) ?? "?"
        return Finding(.ok, "agent", "\(process)running for \(uptime)")
    }

    private func version(_ about: AgentMessage) -> Finding {
        let version = about.version ?? "unknown"
        guard version != AgentRelease.version else { return Finding(.ok, "version", version) }
        return Finding(
            .warning,
            "version",
            "the agent is \(version), tokenctl is \(AgentRelease.version)",
            remedy: endpoint.restart(of: about)
        )
    }

    /// Returns a warning if the agent uses another store than the environment names, which happens where another
    /// shell with other variables started it.
    private func otherStore(of about: AgentMessage) -> [Finding] {
        guard endpoint.socket == nil, !AgentPaths.namesSocket(), let store = about.store,
            let own = try? AgentPaths().stateDirectory, !PrivateDirectory.isSame(store, own)
        else { return [] }
        return [
            Finding(
                .warning,
                "agent's store",
                "the agent keeps its sessions in \(store), and this shell's variables name \(own)",
                remedy: about.restartCommand.map {
                    .set("the same variables in Environment= of the agent's unit, then run \($0)")
                } ?? .restart
            )
        ]
    }

    private func lock(_ about: AgentMessage) -> Finding {
        guard about.locked == true else { return Finding(.ok, "lock", "the agent is unlocked") }
        return Finding(.warning, "lock", "the agent is locked", remedy: .run("tokenctl unlock"))
    }
}
