// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import NIOCore
import OAuthClient
import ServerSettings
import Text
import TokenCore

/// The check of servers for `tokenctl doctor` and `tokenctl add`: name, connection, certificate and metadata.
struct ServerCheck: Sendable {
    /// The time limit of 10 seconds.
    ///
    /// A slower server is useless for a session, too.
    private static let limit = TimeAmount.seconds(10)

    let servers: AuthorizationServers
    /// The proxy for servers that no session uses yet.
    let proxy: ProxySetting
    let eventLoop: any EventLoop

    /// Checks a server once for all `sessions`, which use it with the same trust settings.
    ///
    /// - Returns: The result, and the time by which the server's clock is ahead of this computer's, if the
    ///   server sent it.
    func check(
        _ place: ServerCheckTarget,
        of sessions: [SessionName]
    ) async -> (check: DiagnosticCheck, clockLead: Duration?) {
        let name = "server \(place.address)"
        guard let session = sessions.first else {
            return (DiagnosticCheck(name: name, verdict: .ok, detail: "no session"), nil)
        }
        switch await inTime({ await servers.examine(session) }) {
        case .success(let found):
            let check = DiagnosticCheck(name: name, verdict: .ok, detail: found.words, sessions: sessions)
            return (check, found.clockLead)
        case .failure(let failure):
            // Only here it is known which tables name the server, and whether they name a certificate.
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

    /// Probes a server that no session uses yet.
    ///
    /// `caFile` is a file with the certificates of a private CA.
    func examine(
        _ place: ProbeTarget,
        caFile: String?
    ) async -> Result<ServerProbeMessage, RequestFailure> {
        let trust = ServerTrust(caFile: caFile, proxy: proxy)
        let result: Result<ServerProbeMessage, RefreshFailure> =
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
            // Waiting does not correct an address or a certificate.
            let isOurs = failure.kind == .misconfigured || failure.kind == .insecure
            // No session's table can be changed yet, so its advice is dropped. A certificate can be trusted
            // without a table, and advice about an issuer is about the command.
            let isOfCommand = if case .issuer = place { isOurs } else { failure.kind == .insecure }
            return RequestFailure(
                code: isOurs ? .misconfigured : .temporarilyUnavailable,
                message: failure.message,
                remedy: isOfCommand ? failure.remedy : nil,
                retryAfter: failure.retryAfter
            )
        }
    }

    /// Runs `look`, and cancels it after the time limit.
    private func inTime<Finding: Sendable>(
        _ look: @escaping @Sendable () async -> Finding
    ) async -> Finding {
        let work = Task { await look() }
        let alarm = eventLoop.scheduleTask(in: Self.limit) { work.cancel() }
        defer { alarm.cancel() }
        return await work.value
    }

    private func remedy(
        for kind: FailureClass,
        _ place: ServerCheckTarget,
        _ sessions: [SessionName]
    ) -> Remedy {
        let tables = sessions.map { "[session.\($0)]" }.joined(separator: ", ")
        switch kind {
        case .insecure where place.trust.caFile == nil:
            return .set(
                "ca_file in \(tables) to the server's certificate authority, then run tokenctl reload"
            )
        case .insecure: return .set("ca_file or pins in \(tables), then run tokenctl reload")
        case .misconfigured: return .set("the address or ca_file in \(tables), then run tokenctl reload")
        case .busy: return .retry("later")
        case .misbehaved: return .set("the address in \(tables), then run tokenctl reload")
        default: return .retry("after checking the network, the address and the firewall")
        }
    }
}

extension IssuerCapabilities {
    fileprivate var wire: ServerProbeMessage {
        ServerProbeMessage {
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
    fileprivate var wire: ServerProbeMessage {
        var message = server.wire
        message.resource = resource
        message.issuer = issuer
        message.resourceScopes = scopes
        return message
    }
}
