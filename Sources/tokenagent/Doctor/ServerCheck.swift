// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import NIOCore
import OAuthClient
import TokenCore

/// Looks at servers, for `tokenctl doctor` and `tokenctl add`: name, connection, certificate and metadata.
struct ServerCheck: Sendable {
    /// A server that has not answered by then is of no use to a session either.
    private static let limit = TimeAmount.seconds(10)

    let servers: AuthorizationServers
    /// How servers are reached that no session uses yet.
    let proxy: ProxyChoice
    let eventLoop: any EventLoop

    /// Checks once for all `sessions`, which use the same server and trust it in the same way.
    ///
    /// - Returns: the result, and by how much the server's clock is ahead of ours if it tells the time.
    func check(
        _ place: ProbedServer,
        of sessions: [SessionName]
    ) async -> (check: DiagnosticCheck, clockLead: Duration?) {
        let name = "server \(place.address)"
        guard let session = sessions.first else {
            return (DiagnosticCheck(name: name, verdict: .ok, detail: "no session is there"), nil)
        }
        switch await inTime({ await servers.examine(session) }) {
        case .success(let found):
            let check = DiagnosticCheck(name: name, verdict: .ok, detail: found.words, sessions: sessions)
            return (check, found.clockLead)
        case .failure(let failure):
            // Here it is known which tables name the server, and whether they name a certificate.
            let ours = remedy(for: failure.kind, place, sessions)
            let check = DiagnosticCheck(
                name: name,
                verdict: .problem,
                detail: failure.message,
                remedy: failure.kind == .insecure ? ours : failure.remedy ?? ours,
                sessions: sessions
            )
            return (check, nil)
        }
    }

    /// What is at `place`, which no session uses yet; `caFile` holds the certificates of a private authority.
    func examine(
        _ place: ProbeTarget,
        caFile: String?
    ) async -> Result<ExaminationMessage, RequestFailure> {
        let trust = ServerTrust(caFile: caFile, proxy: proxy)
        let result: Result<ExaminationMessage, RefreshFailure> =
            switch place {
            case .issuer(let issuer, let metadata):
                await inTime { await servers.examine(issuer: issuer, metadata: metadata, trust: trust) }
                    .map(\.wire)
            case .resource(let address, let issuer):
                await inTime {
                    let resource = ProtectedResource(address: address, issuer: issuer)
                    return await servers.examine(resource, trust: trust)
                }
                .map(\.wire)
            }
        return result.mapError { failure in
            // Waiting mends neither an address nor certificates.
            let isOurs = failure.kind == .misconfigured || failure.kind == .insecure
            // There is no session yet whose table could be changed; a certificate can be trusted without one, and what is
            // said of an issuer is about the command.
            let isOfCommand = if case .issuer = place { isOurs } else { failure.kind == .insecure }
            return RequestFailure(
                code: isOurs ? .misconfigured : .temporarilyUnavailable,
                message: failure.message,
                remedy: isOfCommand ? failure.remedy : nil,
                retryAfter: failure.retryAfter
            )
        }
    }

    /// What `look` finds in the time there is.
    private func inTime<Finding: Sendable>(
        _ look: @escaping @Sendable () async -> Finding
    ) async -> Finding {
        let work = Task { await look() }
        let alarm = eventLoop.scheduleTask(in: Self.limit) { work.cancel() }
        defer { alarm.cancel() }
        return await work.value
    }

    private func remedy(for kind: FailureClass, _ place: ProbedServer, _ sessions: [SessionName]) -> String {
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

extension IssuerCapabilities {
    fileprivate var wire: ExaminationMessage {
        ExaminationMessage {
            $0.flows = flows.map(\.rawValue)
            $0.authentication = authentication?.map(\.rawValue)
            $0.scopes = scopes?.map(\.rawValue)
            $0.allScopes = allScopes
            $0.features = features.map(\.rawValue)
            $0.issuer = issuer
            $0.remarks = remarks.isEmpty ? nil : remarks
        }
    }
}

extension ResourceCapabilities {
    fileprivate var wire: ExaminationMessage {
        var message = server.wire
        message.resource = resource
        message.issuer = issuer
        message.resourceScopes = scopes
        return message
    }
}
