// SPDX-License-Identifier: MIT

import AgentServer
import NIOCore
import OAuthClient
import TokenCore

/// Checks the way to a server, for `tokenctl doctor`: name, connection, certificate and metadata.
struct ServerCheck: Sendable {
    /// A server that has not answered by then is of no use to a session either.
    private static let limit = TimeAmount.seconds(10)

    let servers: AuthorizationServers
    let eventLoop: any EventLoop

    /// Checks once for all `sessions`, which use the same server and trust it in the same way.
    func check(_ place: ServerPlace, of sessions: [SessionName]) async -> DiagnosticCheck {
        let name = "server \(place.address)"
        guard let session = sessions.first else {
            return DiagnosticCheck(name: name, verdict: .ok, detail: "no session is there")
        }
        let work = Task { await servers.examine(session) }
        let alarm = eventLoop.scheduleTask(in: Self.limit) { work.cancel() }
        let result = await work.value
        alarm.cancel()
        switch result {
        case .success(let words):
            return DiagnosticCheck(name: name, verdict: .ok, detail: words, sessions: sessions)
        case .failure(let failure):
            return DiagnosticCheck(
                name: name,
                verdict: .problem,
                detail: failure.message,
                remedy: remedy(for: failure.kind, place, sessions),
                sessions: sessions
            )
        }
    }

    private func remedy(for kind: FailureClass, _ place: ServerPlace, _ sessions: [SessionName]) -> String {
        let tables = sessions.map { "session.\($0)" }.joined(separator: ", ")
        switch kind {
        case .insecure where place.trust.caFile == nil:
            return "if it has a certificate authority of its own, name its file as ca_file of \(tables)"
        case .insecure: return "correct ca_file or pins of \(tables), then tokenctl reload"
        case .misconfigured: return "correct the address or ca_file of \(tables), then tokenctl reload"
        case .busy, .misbehaved: return "correct the address of \(tables), or try again later"
        default: return "check the network, the address and the firewall"
        }
    }
}
