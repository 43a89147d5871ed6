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

    init(ports: AgentPorts, identity: AgentDescription) {
        self.identity = identity
        diagnostics = ports.diagnostics
        startedAt = ports.timekeeper.now
    }

    /// Serves `GET /v1`.
    func agent(for connection: Connection, in agent: isolated SessionAgent) -> HTTPResponse {
        // Peers of a forwarded or shared socket do not get the agent's process number, nor the path of its
        // store.
        let isOwn = !connection.caller.isRestricted
        var message = AgentMessage()
        message.version = identity.version
        message.api = Int64(AgentRelease.apiVersion)
        message.pid = isOwn ? Int64(getpid()) : nil
        message.uptime = (agent.now - startedAt).wholeSeconds
        message.locked = agent.isLocked
        message.sessions = Int64(count(for: connection, in: agent))
        message.memoryLocked = isOwn ? identity.isMemoryLocked : nil
        message.store = isOwn ? identity.store : nil
        return .message(message)
    }

    private func count(for connection: Connection, in agent: isolated SessionAgent) -> Int {
        if agent.configuration.rules.exist || connection.caller.isRestricted {
            return visibleSessions(to: connection, in: agent).count
        }
        return agent.phase == .opening ? agent.configuration.current.sessions.count : agent.sessions.count
    }

    /// Returns the sessions that are visible to a peer, in the order of their names.
    private func visibleSessions(to connection: Connection, in agent: isolated SessionAgent) -> [SessionEntry]
    {
        let shown = agent.sessions.keys.filter { agent.configuration.isShown($0, to: connection) }
        return shown.sorted().compactMap { agent.sessions[$0] }
    }

    /// Serves `GET /v1/sessions`.
    func sessions(for connection: Connection, in agent: isolated SessionAgent) -> HTTPResponse {
        let moment = agent.moment
        let shown = visibleSessions(to: connection, in: agent)
        let sessions = shown.map { status($0, for: connection, at: moment, in: agent) }
        return .message(SessionsMessage { $0.sessions = sessions })
    }

    /// Serves `GET /v1/sessions/NAME`.
    func session(
        _ name: SessionName,
        for connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) -> HTTPResponse {
        guard let kept = agent.sessions[name] else { throw .unknown(name) }
        return .message(status(kept, for: connection, at: agent.moment, in: agent))
    }

    private func status(
        _ kept: SessionEntry,
        for connection: Connection,
        at moment: Moment,
        in agent: isolated SessionAgent
    ) -> SessionMessage {
        let status = agent.fleet.status(of: kept.session)
        guard !connection.caller.isRestricted else {
            return status.restrictedMessage(kept.settings, at: moment)
        }
        let hidden = agent.configuration.hiddenSources(of: status.name, from: connection)
        return status.message(kept.settings, without: hidden, at: moment)
    }

    /// Serves `GET /v1/metrics`.
    func metrics(for connection: Connection, in agent: isolated SessionAgent) -> HTTPResponse {
        var metrics = MetricsText()
        let moment = agent.moment
        let (waiters, logins) = (agent.requests.tokens.waitingCount, agent.requests.logins.count)
        metrics.addAgent(uptime: moment.now - startedAt, waiters: waiters, logins: logins)
        let visible = visibleSessions(to: connection, in: agent)
        metrics.add(visible, at: moment)
        if agent.ports.fleet != nil {
            let generations = visible.map(\.session.name).compactMap { name in
                agent.fleet[name]?.member.memory.record.map { (name.description, $0.generation) }
            }
            let isOpen = agent.fleet.sharing != nil && agent.fleet.storeError == nil
            metrics.addFleet(isStoreOpen: isOpen, generations)
        }
        return .text(metrics.text, contentType: "text/plain; version=0.0.4; charset=utf-8")
    }

    /// Serves `GET /v1/doctor`.
    func serveDoctor(on connection: Connection, in agent: isolated SessionAgent) {
        Task {
            let fleet = await FleetCheckup().checks(in: agent)
            let unstored = agent.sessions.values.compactMap(\.storageCheck).sorted { $0.detail < $1.detail }
            let helpers = agent.sessions.values.compactMap(\.session.helperCheck).sorted {
                $0.detail < $1.detail
            }
            let sockets =
                agent.configuration.unopened.map(\.check)
                + agent.configuration.current.sockets.compactMap(\.reachCheck)
            let all =
                await diagnostics.checks() + fleet + agent.configuration.files.checks + sockets + helpers
                + unstored
            let checks = all.filter { check in
                check.sessions.isEmpty
                    || check.sessions.contains { agent.configuration.isShown($0, to: connection) }
            }
            connection.answer(.message(DoctorMessage { $0.checks = checks.map(\.wire) }))
        }
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
    fileprivate var reachCheck: DiagnosticCheck? {
        guard mode & 0o077 != 0, let closed = SocketDirectory.closedDirectory(above: path) else { return nil }
        return DiagnosticCheck(
            name: "socket",
            verdict: .problem,
            detail: "\(path): other users cannot enter the directory \(closed)",
            remedy: .run("chmod go+x \(closed)")
        )
    }
}

extension TokenFileError {
    fileprivate var remedy: Remedy {
        switch self {
        case .noDirectory:
            .set("path of the [[file]] to an existing directory, then run tokenctl shutdown && tokenagent")
        case .outOfReach: .run("tokenctl shutdown && tokenagent")
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
