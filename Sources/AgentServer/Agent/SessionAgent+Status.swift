// SPDX-License-Identifier: MIT

import Glibc
import Text
import TokenCore

extension SessionAgent {
    /// Serves `GET /v1`.
    func agentStatus(for connection: Connection) -> Answer {
        let uptime = ports.timekeeper.now - startedAt
        let count =
            rules.exist || connection.restrictedPath != nil
            ? visibleSessions(to: connection).count
            : phase == .opening ? configuration.sessions.count : sessions.count
        if connection.restrictedPath != nil {
            // Where the agent is and whose is not for those it is only forwarded to.
            return .json([
                "version": .string(identity.version), "api": 1, "uptime": .integer(uptime.wholeSeconds),
                "locked": .bool(isLocked), "sessions": .integer(count),
            ])
        }
        return .json([
            "version": .string(identity.version),
            "api": 1,
            "pid": .integer(getpid()),
            "uptime": .integer(uptime.wholeSeconds),
            "locked": .bool(isLocked),
            "sessions": .integer(count),
            "memory_locked": .bool(identity.isMemoryLocked),
            "store": .string(identity.store),
        ])
    }

    /// Serves `GET /v1/sessions`.
    func sessionList(for connection: Connection) -> Answer {
        .json(["sessions": .array(visibleSessions(to: connection).map { status($0, for: connection) })])
    }

    private func status(_ kept: KeptSession, for connection: Connection) -> JSONValue {
        guard connection.restrictedPath == nil else { return restrictedStatus(kept) }
        return kept.session.status.json(kept.settings, at: ports.timekeeper.moment)
    }

    /// Serves `GET /v1/sessions/NAME`.
    func sessionStatus(_ name: SessionName, for connection: Connection) throws(RequestFailure) -> Answer {
        guard let kept = sessions[name] else { throw unknown(name) }
        return .json(status(kept, for: connection))
    }

    /// Serves `GET /v1/metrics`.
    func metrics(for connection: Connection) -> Answer {
        var metrics = MetricsText()
        let moment = ports.timekeeper.moment
        metrics.addAgent(uptime: moment.now - startedAt, waiters: calls.count, logins: logins.count)
        metrics.add(visibleSessions(to: connection), at: moment)
        return .text(metrics.text, contentType: "text/plain; version=0.0.4; charset=utf-8")
    }

    /// Serves `GET /v1/doctor`.
    func serveDoctor(on connection: Connection) {
        Task {
            let checks = await ports.diagnostics.checks().filter { check in
                check.sessions.isEmpty || check.sessions.contains { isShown($0, to: connection) }
            }
            connection.answer(.json(["checks": .array(checks.map(\.json))]))
        }
    }
}

extension DiagnosticCheck {
    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["name"] = .string(name)
        object["ok"] = verdict == .warning ? "warning" : .bool(verdict == .good)
        object["detail"] = .string(detail)
        object["remedy"] = remedy.map { .string($0) }
        return .object(object)
    }
}
