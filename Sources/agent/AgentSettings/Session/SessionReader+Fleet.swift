// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// The keys for sessions of a fleet.
extension SessionReader {
    /// Reads `fleet`: whether all hosts of the fleet share the session.
    mutating func isShared(_ kind: ServerKind, _ flow: LoginFlow) -> Bool {
        guard table.boolean("fleet") == true else { return false }
        if surroundings.fleetRole == nil {
            table.report("fleet", "requires the table [fleet]")
        }
        if !kind.hasLogins || flow.needsNobody {
            let reason = kind.hasLogins ? "flow \"\(flow.rawValue)\"" : "kind \"\(kind.rawValue)\""
            table.report("fleet", "requires a refresh token: with \(reason), each host gets its own tokens")
        }
        // Each host registers its own client.
        let isUnregistered = kind == .oidc && flow != .jwtBearer && !table.has("client_id")
        if kind == .identityCenter || isUnregistered {
            let requirement =
                isUnregistered ? "requires client_id" : "does not support kind \"\(kind.rawValue)\""
            table.report("fleet", "\(requirement): each host would register its own client")
        }
        if kind.isStandard, table.boolean("dpop") == true, surroundings.fleetRole == .reader {
            table.report(
                "dpop",
                "cannot be combined with role = \"reader\": readers have no key for DPoP proofs"
            )
        }
        table.refuse(["refresh_before"], "fleet sessions are refreshed when a third of the lifetime remains")
        return true
    }

    /// Reads `revokes`: the tokens that end together with a revoked one.
    mutating func revokes(_ kind: ServerKind, _ flow: LoginFlow) -> LoginsEndedByRevocation? {
        guard kind.hasLogins, !flow.needsNobody else {
            table.refuse(["revokes"], "only for sessions with a login")
            return nil
        }
        return table.word("revokes", LoginsEndedByRevocation.self)
    }

    /// Reads `reuse_grace`: for how long another host may resend a refresh token whose response is missing.
    mutating func reuseGrace(isShared: Bool) -> Duration? {
        guard isShared else {
            table.refuse(["reuse_grace"], "only for sessions with fleet = true")
            return nil
        }
        return table.duration("reuse_grace", in: .seconds(10) ... .seconds(86_400), "10s to 1d")
    }
}
