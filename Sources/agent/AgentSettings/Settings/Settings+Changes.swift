// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

extension Settings {
    /// Returns the differences from `old`, with tables in the order of their names.
    package func changes(from old: Settings) -> [ConfigurationChange] {
        agentChanges(from: old) + fleetChanges(from: old)
            + placeChanges("socket", from: old.sockets, to: sockets, at: \.path)
            + placeChanges("file", from: old.files, to: files, at: \.path) + listenerChanges(from: old)
            + sessionChanges(from: old)
    }

    private func agentChanges(from old: Settings) -> [ConfigurationChange] {
        let differing: [(String, Bool)] = [
            ("agent.log_level", logLevel != old.logLevel),
            ("agent.allow_root", allowsRoot != old.allowsRoot),
            ("agent.audit", keepsAudit != old.keepsAudit), ("agent.proxy", proxy != old.proxy),
            ("agent.user_agent", userAgent != old.userAgent),
            ("vault.unlock_command", vault.unlockCommand != old.vault.unlockCommand),
        ]
        let keys = differing.filter(\.1).map(\.0) + hooks.keys(differingFrom: old.hooks)
        return (keys + vault.keys(differingFrom: old.vault)).map { ConfigurationChange(.changed, $0) }
    }

    private func fleetChanges(from old: Settings) -> [ConfigurationChange] {
        guard let fleet else { return old.fleet == nil ? [] : [ConfigurationChange(.removed, "fleet")] }
        let kind: ConfigurationChange.Kind = old.fleet == nil ? .added : .changed
        return fleet.keys(differingFrom: old.fleet).map { ConfigurationChange(kind, $0) }
    }

    /// Returns the differences between the tables `[[name]]`, which are identified by path or name.
    private func placeChanges<Table: Equatable>(
        _ name: String,
        from old: [Table],
        to new: [Table],
        at path: (Table) -> String
    ) -> [ConfigurationChange] {
        let before = Dictionary(old.map { (path($0), $0) }) { first, _ in first }
        let now = Dictionary(new.map { (path($0), $0) }) { first, _ in first }
        return Set(before.keys).union(now.keys).sorted().compactMap { path in
            guard before[path] != now[path] else { return nil }
            let kind: ConfigurationChange.Kind =
                before[path] == nil ? .added : now[path] == nil ? .removed : .changed
            return ConfigurationChange(kind, "\(name) \(path)")
        }
    }

    private func listenerChanges(from old: Settings) -> [ConfigurationChange] {
        [false, true].flatMap { isProxy in
            let before = old.listeners.filter { ($0.message.kind == .proxy) == isProxy }
            let now = listeners.filter { ($0.message.kind == .proxy) == isProxy }
            return placeChanges(isProxy ? "proxy" : "endpoint", from: before, to: now, at: \.name)
        }
    }

    private func sessionChanges(from old: Settings) -> [ConfigurationChange] {
        let before = Dictionary(old.sessions.map { ($0.name, $0) }) { first, _ in first }
        let now = Dictionary(sessions.map { ($0.name, $0) }) { first, _ in first }
        return Set(before.keys).union(now.keys).sorted().flatMap { name -> [ConfigurationChange] in
            let table = "session.\(name)"
            guard let old = before[name] else { return [ConfigurationChange(.added, table, session: name)] }
            guard let new = now[name] else { return [ConfigurationChange(.removed, table, session: name)] }
            guard old != new else { return [] }
            let keys = new.keys(differingFrom: old)
            // The difference is in the kind's own settings, or has no key here.
            guard !keys.isEmpty else { return [ConfigurationChange(.changed, table, session: name)] }
            return keys.map { ConfigurationChange(.changed, "\(table).\($0)", session: name) }
        }
    }
}

extension HookSettings {
    fileprivate func keys(differingFrom old: HookSettings) -> [String] {
        let differing: [(String, Bool)] = [
            ("hooks.login_required", loginRequired != old.loginRequired), ("hooks.event", event != old.event),
            ("hooks.confirm", confirm != old.confirm), ("hooks.desktop", isOnDesktop != old.isOnDesktop),
        ]
        return differing.filter(\.1).map(\.0)
    }
}

extension VaultSettings {
    /// Returns the keys of `[vault]` that differ and are read only at the start: all but `unlock_command`.
    func keys(differingFrom old: VaultSettings) -> [String] {
        let differing: [(String, Bool)] = [
            ("vault.keyfile", keyFile != old.keyFile),
            ("vault.require_locked_memory", requiresLockedMemory != old.requiresLockedMemory),
            ("vault.rollback_counter", rollbackCounter != old.rollbackCounter),
            ("vault.rollback_counter_accept", acceptedCounter != old.acceptedCounter),
        ]
        return differing.filter(\.1).map(\.0)
    }
}

extension ConfiguredSession {
    fileprivate func keys(differingFrom old: ConfiguredSession) -> [String] {
        serverKeys(differingFrom: old) + clientKeys(differingFrom: old) + policyKeys(differingFrom: old)
    }

    private func serverKeys(differingFrom old: ConfiguredSession) -> [String] {
        let differing: [(String, Bool)] = [
            ("kind", server.identity.kind != old.server.identity.kind), ("issuer", issuer != old.issuer),
            ("resource", server.resourceAddress != old.server.resourceAddress),
            ("metadata_url", server.metadataAddress != old.server.metadataAddress),
            ("ca_file", trust.caFile != old.trust.caFile), ("pins", trust.pins != old.trust.pins),
            ("proxy", trust.proxy != old.trust.proxy),
            ("user_agent", userAgent != old.userAgent), ("hosts", hosts != old.hosts),
            ("allow", rules != old.rules),
        ]
        return differing.filter(\.1).map(\.0)
    }

    private func clientKeys(differingFrom old: ConfiguredSession) -> [String] {
        let differing: [(String, Bool)] = [
            ("scopes", scopes != old.scopes), ("flow", flow != old.flow),
            ("audience", audience != old.audience),
            ("resources", resources != old.resources), ("dpop", bindsTokens != old.bindsTokens),
            ("id_token", responses.requiresIDToken != old.responses.requiresIDToken),
            ("expires_in_unit", responses.lifetimeUnit != old.responses.lifetimeUnit),
        ]
        return client.keys(differingFrom: old.client) + differing.filter(\.1).map(\.0)
            + sources.keys(differingFrom: old.sources)
            + authorization.keys(differingFrom: old.authorization)
            + endpointKeys(differingFrom: old.endpoints)
    }

    private func endpointKeys(differingFrom old: EndpointOverrides) -> [String] {
        let differing: [(String, Bool)] = [
            ("token_endpoint", endpoints.token != old.token),
            ("authorization_endpoint", endpoints.authorization != old.authorization),
            ("device_authorization_endpoint", endpoints.deviceAuthorization != old.deviceAuthorization),
            ("revocation_endpoint", endpoints.revocation != old.revocation),
            ("end_session_endpoint", endpoints.endSession != old.endSession),
            ("jwks_uri", endpoints.keySet != old.keySet),
        ]
        return differing.filter(\.1).map(\.0)
    }

    private func policyKeys(differingFrom old: ConfiguredSession) -> [String] {
        let differing: [(String, Bool)] = [
            ("refresh_before", policy.refreshBefore != old.policy.refreshBefore),
            ("min_validity", policy.minimumValidity != old.policy.minimumValidity),
            ("get_timeout", policy.getTimeout != old.policy.getTimeout),
            ("refreshes_per_second", policy.refreshesPerSecond != old.policy.refreshesPerSecond),
            ("max_session_age", policy.maximumSessionAge != old.policy.maximumSessionAge),
            ("warn_before", policy.warnBefore != old.policy.warnBefore),
            ("fleet", policy.isShared != old.policy.isShared),
            ("reauth", reauthentication != old.reauthentication),
            ("reauth_command", reauthenticationCommand != old.reauthenticationCommand),
        ]
        return differing.filter(\.1).map(\.0)
    }
}

extension ServerProfile.Kind {
    /// The URL of the protected resource that names the server.
    package var resourceAddress: String? {
        if case .resource(let resource) = self { resource.address } else { nil }
    }

    /// The configured URL of the issuer's metadata, if any.
    package var metadataAddress: String? {
        switch self {
        case .oidc(_, let address): address
        case .resource(let resource): resource.metadata
        default: nil
        }
    }
}

extension AuthorizationRequestOptions {
    fileprivate func keys(differingFrom old: AuthorizationRequestOptions) -> [String] {
        let differing: [(String, Bool)] = [
            (redirect.key, redirect != old.redirect), ("prompt", prompt != old.prompt),
            ("login_hint", loginHint != old.loginHint), ("acr_values", contextClasses != old.contextClasses),
            ("max_age", maximumAge != old.maximumAge),
            ("authorization_parameters", parameters != old.parameters),
        ]
        return differing.filter(\.1).map(\.0)
    }
}

extension AuthorizationRequestOptions.Redirect {
    fileprivate var key: String {
        switch self {
        case .port, .oneOf: "redirect_port"
        case .registered: "redirect_uri"
        }
    }
}
