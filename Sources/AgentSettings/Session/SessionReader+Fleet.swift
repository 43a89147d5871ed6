// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// The keys for sessions of a fleet.
extension SessionReader {
    /// Reads `fleet`: whether all hosts of the fleet share the session.
    mutating func isShared(_ kind: ServerKind, _ flow: LoginFlow) -> Bool {
        guard table.boolean("fleet") == true else { return false }
        if surroundings.fleetRole == nil {
            table.report("fleet", "needs the table [fleet], which says where hosts share their sessions")
        }
        if !kind.hasLogins || flow.needsNobody {
            let reason = kind.hasLogins ? "flow \(flow.rawValue)" : "kind \(kind.rawValue)"
            table.report(
                "fleet",
                "is only for sessions with a refresh token: with \(reason) each host gets tokens of its own; "
                    + "leave it out"
            )
        }
        // Each host registers its own client.
        let isUnregistered = kind == .oidc && flow != .jwtBearer && !table.has("client_id")
        if kind == .identityCenter || isUnregistered {
            let remedy =
                isUnregistered ? "write the client_id of a client that is registered" : "leave it out"
            table.report(
                "fleet",
                "needs a client that all hosts have, and here each registers one of its own: \(remedy)"
            )
        }
        if kind.isStandard, table.boolean("dpop") == true, surroundings.fleetRole == .reader {
            table.report(
                "dpop",
                "cannot be true on a reader, which gets no key to prove with: make this host a keeper, "
                    + "or leave out the session"
            )
        }
        table.refuse(["refresh_before"], "sessions of a fleet are refreshed with a third of their life left")
        return true
    }

    /// Reads `revokes`: the tokens that end together with a revoked one.
    mutating func revokes(_ kind: ServerKind, _ flow: LoginFlow) -> RevocationScope? {
        guard kind.hasLogins, !flow.needsNobody else {
            table.refuse(["revokes"], "is only for sessions that somebody logs in to")
            return nil
        }
        return table.word("revokes", RevocationScope.self)
    }

    /// Reads `reuse_grace`: for how long another host may resend a refresh token whose response is missing.
    mutating func reuseGrace(isShared: Bool) -> Duration? {
        guard isShared else {
            table.refuse(["reuse_grace"], "is only for sessions of a fleet, with fleet = true")
            return nil
        }
        return table.duration("reuse_grace", in: .seconds(10) ... .seconds(86_400), "10s to 1d")
    }
}
