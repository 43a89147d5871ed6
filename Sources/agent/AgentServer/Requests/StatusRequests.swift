// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import NIOCore
import Text
import TokenCore

/// The requests about the agent itself and its sessions.
struct StatusRequests {
    private let identity: AgentDescription
    private let diagnostics: any DiagnosticsProviding
    private let startedAt: Instant
    private let timekeeper: any Timekeeper
    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let phase: AgentPhase
    private let fleet: any SessionSharing
    /// The checks of the fleet, or `nil` without one.
    private let checkup: FleetCheckup?
    private let files: TokenFiles
    private let tokens: TokenRequests
    private let logins: Logins
    private let tasks: LoopTasks

    init(
        ports: AgentPorts,
        identity: AgentDescription,
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        phase: AgentPhase,
        fleet: any SessionSharing,
        checkup: FleetCheckup?,
        files: TokenFiles,
        tokens: TokenRequests,
        logins: Logins,
        tasks: LoopTasks
    ) {
        self.identity = identity
        diagnostics = ports.diagnostics
        timekeeper = ports.timekeeper
        startedAt = ports.timekeeper.now
        self.registry = registry
        self.configuration = configuration
        self.phase = phase
        self.fleet = fleet
        self.checkup = checkup
        self.files = files
        self.tokens = tokens
        self.logins = logins
        self.tasks = tasks
    }

    /// Serves `GET /v1`.
    func agent(for connection: Connection) -> HTTPResponse {
        // Peers of a forwarded or shared socket do not get the agent's process number, nor the paths of its
        // files.
        let isOwn = !connection.caller.isRestricted
        var message = AgentMessage()
        message.version = identity.version
        message.api = Int64(AgentRelease.apiVersion)
        message.pid = isOwn ? Int64(getpid()) : nil
        message.uptime = (timekeeper.now - startedAt).wholeSeconds
        message.locked = phase.isLocked
        message.sessions = Int64(count(for: connection))
        message.memoryLocked = isOwn ? identity.isMemoryLocked : nil
        message.store = isOwn ? identity.store : nil
        message.configuration = isOwn ? identity.configuration : nil
        message.restartCommand = isOwn ? AgentRestart.ofUnit : nil
        return .message(message)
    }

    private func count(for connection: Connection) -> Int {
        if configuration.rules.exist || connection.caller.isRestricted {
            return visibleSessions(to: connection).count
        }
        return phase.current == .opening ? configuration.current.sessions.count : registry.entries.count
    }

    /// Returns the sessions that are visible to a peer, in the order of their names.
    private func visibleSessions(to connection: Connection) -> [SessionEntry] {
        let shown = registry.entries.keys.filter { configuration.isShown($0, to: connection) }
        return shown.sorted().compactMap { registry[$0] }
    }

    /// Serves `GET /v1/sessions`.
    func sessions(for connection: Connection) -> HTTPResponse {
        let moment = timekeeper.moment
        let shown = visibleSessions(to: connection)
        let sessions = shown.map { status($0, for: connection, at: moment) }
        return .message(SessionsMessage { $0.sessions = sessions })
    }

    /// Serves `GET /v1/sessions/NAME`.
    func session(_ name: SessionName, for connection: Connection) throws(RequestFailure) -> HTTPResponse {
        guard let kept = registry[name] else { throw .unknown(name) }
        return .message(status(kept, for: connection, at: timekeeper.moment))
    }

    private func status(
        _ kept: SessionEntry,
        for connection: Connection,
        at moment: Moment
    ) -> SessionMessage {
        let status = fleet.status(of: kept.session)
        guard !connection.caller.isRestricted else {
            return status.restrictedMessage(kept.settings, at: moment)
        }
        let hidden = configuration.hiddenSources(of: status.name, from: connection)
        return status.message(kept.settings, without: hidden, at: moment)
    }

    /// Serves `GET /v1/metrics`.
    func metrics(for connection: Connection) -> HTTPResponse {
        let visible = visibleSessions(to: connection)
        let input = MetricsInput(
            moment: timekeeper.moment,
            startedAt: startedAt,
            isServing: phase.isServing,
            waitingRequests: tokens.waitingCount,
            logins: logins.count,
            sessions: visible,
            isFleetUp: fleet.isReachable,
            generations: visible.map(\.session.name).compactMap { name in
                fleet.generation(of: name).map {
                    MetricsInput.SharedGeneration(session: name.description, generation: $0)
                }
            }
        )
        return .text(Metric.text(of: input), contentType: "text/plain; version=0.0.4; charset=utf-8")
    }

    /// Serves `GET /v1/doctor`.
    func serveDoctor(on connection: Connection) {
        tasks.start {
            let fleet = await checkup?.checks() ?? []
            let sessions = registry.entries.values.flatMap { self.checks(of: $0) }
                .sorted { $0.detail < $1.detail }
            let sockets =
                configuration.unopened.map(\.check)
                + configuration.current.sockets.compactMap { $0.reachCheck(besides: identity) }
            let all =
                await diagnostics.checks() + fleet + files.checks + sockets + sessions
            let checks = all.filter { check in
                check.sessions.isEmpty
                    || check.sessions.contains { configuration.isShown($0, to: connection) }
            }
            connection.answer(.message(DoctorMessage { $0.checks = checks.map(\.wire) }))
        }
    }

    /// Returns the findings about a session; those about its programs and its storage say more than its state.
    private func checks(of kept: SessionEntry) -> [DiagnosticCheck] {
        let known = [kept.session.helperCheck, kept.storageCheck].compactMap(\.self)
        return known.isEmpty ? [fleet.status(of: kept.session).loginCheck].compactMap(\.self) : known
    }
}

extension Session {
    /// The finding about a configured program or file that fails, or `nil` if none does.
    fileprivate var helperCheck: DiagnosticCheck? {
        helperFailure.map { failure in
            DiagnosticCheck(
                name: "program",
                verdict: .warning,
                detail: "\(name): \(failure.message)",
                remedy: failure.remedy ?? .run("tokenctl refresh \(name)"),
                sessions: [name]
            )
        }
    }
}

extension SessionStatus {
    /// The finding that the login has ended, or that something has to be corrected before the next refresh, or
    /// `nil`.
    fileprivate var loginCheck: DiagnosticCheck? {
        let isWaiting = [.suspended, .retrying].contains(state) && remedy != nil
        let hasEnded = state == .loggedOut && reason != .neverLoggedIn && reason != .loggedOut
        guard isWaiting || hasEnded else { return nil }
        return DiagnosticCheck(
            name: "session",
            verdict: .warning,
            detail: "\(name): \(message ?? "login required")",
            remedy: remedy ?? .run("tokenctl login \(name)"),
            sessions: [name]
        )
    }
}

extension SessionEntry {
    /// The finding that no refresh of the session can be stored and so none is made, or `nil` if there is
    /// none.
    fileprivate var storageCheck: DiagnosticCheck? {
        guard let failure = session.hindrance, failure.kind == .storage else { return nil }
        return DiagnosticCheck(
            name: "store",
            verdict: .problem,
            detail: "\(session.name): not refreshed: \(failure.message)",
            remedy: .retry(
                "after fixing the disk or its permissions, then run tokenctl refresh \(session.name)"
            ),
            sessions: [session.name]
        )
    }
}

extension TokenFiles {
    /// The findings about token files, one per file.
    fileprivate var checks: [DiagnosticCheck] {
        complaints.map { outlet, fault in
            DiagnosticCheck(
                name: "file",
                verdict: .problem,
                detail: "\(outlet.path): \(fault.reason)",
                remedy: fault.remedy,
                sessions: [outlet.session]
            )
        }
    }
}

extension SocketOpenFailure {
    fileprivate var check: DiagnosticCheck {
        DiagnosticCheck(
            name: "socket",
            verdict: .problem,
            detail: "cannot open \(path): \(reason)",
            remedy: .set("path of the [[socket]], then run tokenctl reload")
        )
    }
}

extension RestrictedSocket {
    /// The finding that a directory blocks users whom the socket's mode admits, or `nil` if none does.
    ///
    /// The directories of the agent itself have to stay closed.
    fileprivate func reachCheck(besides agent: AgentDescription) -> DiagnosticCheck? {
        guard mode & 0o077 != 0, let closed = SocketDirectory.closedDirectory(above: path) else { return nil }
        let own = [SocketDirectory.parent(of: agent.socket), agent.store]
        return DiagnosticCheck(
            name: "socket",
            verdict: .problem,
            detail: "\(path): other users cannot enter the directory \(closed)",
            remedy: own.contains { PrivateDirectory.isSame($0, closed) }
                ? .setAndRestart(
                    "path of the [[socket]] to another directory"
                )
                : .run("chmod go+x \(closed)")
        )
    }
}

extension TokenFileError {
    fileprivate var remedy: Remedy {
        switch self {
        case .noDirectory:
            .setAndRestart("path of the [[file]] to an existing directory")
        case .outOfReach: .restart
        case .failed(_, let remedy):
            remedy ?? .set("path or format of the [[file]], then run tokenctl reload")
        }
    }
}

extension DiagnosticCheck {
    fileprivate var wire: CheckMessage {
        CheckMessage {
            $0.name = name
            $0.verdict = verdict
            $0.detail = detail
            $0.remedy = remedy
        }
    }
}
