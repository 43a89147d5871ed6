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
        if kind == .awsRole { return part(AWSRoleReader(table)) { $0.sources(server) } }
        guard kind.isStandard else { return ConfiguredSources() }
        let exchanged = exchanged(flow)
        let asserted = asserted(flow)
        if flow.isLogin {
            table.refuse(["from", "derived"], "only for flow \"token_exchange\" or \"jwt_bearer\"")
        }
        return exchanged ?? asserted ?? ConfiguredSources()
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

extension TableReader {
    /// Reads the keys of kind `command`.
    mutating func commandSource() -> CommandSource? {
        if !has("command") {
            report("command", "required: program that prints a token, with its arguments")
        }
        let words = command("command")
        let remedy = string("login_remedy")
        let year = Duration.seconds(365 * 86_400)
        let life = duration("expires_in", in: .seconds(1)...year, "1s to 365d")
        return words.map {
            CommandSource(
                command: $0,
                loginRemedy: remedy,
                assumedLifetime: life ?? CommandSource.usualLifetime
            )
        }
    }
}
