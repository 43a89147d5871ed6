// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// The keys of sessions whose tokens do not come from a login.
extension SessionReader {
    /// Reads the sources of a session of kind `aws_role` or of flow `token_exchange` or `jwt_bearer`; other
    /// sessions have none.
    mutating func sources(
        _ kind: ServerKind,
        _ server: ServerProfile.Kind?,
        _ flow: LoginFlow
    ) -> ConfiguredSources {
        if kind == .awsRole { return roleSources(server) }
        guard kind.isStandard else { return ConfiguredSources() }
        let exchanged = exchanged(flow)
        let asserted = asserted(flow)
        if flow.isLogin {
            table.refuse(["from", "derived"], "only for flow \"token_exchange\" or \"jwt_bearer\"")
        }
        return exchanged ?? asserted ?? ConfiguredSources()
    }

    /// Reads the source session of a role, and which of its tokens is sent.
    private mutating func roleSources(_ server: ServerProfile.Kind?) -> ConfiguredSources {
        if !table.has("from") {
            table.report("from", "required: session whose token is exchanged for the role")
        }
        var sources = table.sources()
        if case .portalRole = server { return sources }
        sources.usesIDToken = table.word("subject_token_type", RoleSubjectTokenType.self) != .accessToken
        return sources
    }

    private mutating func exchanged(_ flow: LoginFlow) -> ConfiguredSources? {
        part(ExchangeReader(table, home: home)) { reader in
            if flow == .tokenExchange { return reader.read() }
            reader.refuse()
            return nil
        }
    }

    private mutating func asserted(_ flow: LoginFlow) -> ConfiguredSources? {
        part(AssertionGrantReader(table, home: home)) { reader in
            if flow == .jwtBearer { return reader.read() }
            reader.refuse()
            return nil
        }
    }

    /// Reports keys for logins that the session does not have.
    ///
    /// If users log in to the session, only the keys of logins without a user are reported.
    mutating func refuseLoginKeys(exceptOfPeople hasPeople: Bool) {
        let silent = ["reauth", "reauth_command"]
        let others = [
            "max_session_age", "warn_before", "redirect_port", "redirect_uri", "prompt", "login_hint",
            "acr_values", "max_age", "authorization_parameters",
        ]
        let reason =
            hasPeople ? "only a user can log in to this session" : "the session has no login"
        table.refuse(silent + (hasPeople ? [] : others), reason)
    }
}

/// The values of `subject_token_type` for a role; the default is the ID token.
private enum RoleSubjectTokenType: String, CaseIterable {
    case idToken = "id_token"
    case accessToken = "access_token"
}
