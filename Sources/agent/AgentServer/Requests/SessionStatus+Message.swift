// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SessionStatus {
    /// Returns the session's status for `GET /v1/sessions/NAME`, without the sources `hidden` from the peer.
    func message(
        _ settings: SessionSettings,
        without hidden: HiddenSources,
        at moment: Moment
    ) -> SessionMessage {
        var message = SessionMessage()
        message.session = name.description
        message.state = state.rawValue
        message.kind = settings.kind
        message.issuer = settings.issuer
        settings.addPlaces(to: &message)
        if settings.policy.isShared {
            message.isShared = true
            message.fleetRole = (settings.policy.isReader ? FleetRole.reader : .keeper).rawValue
        }
        let sources = settings.sources.all.map(\.session)
        message.source = sources.first { !hidden.names.contains($0) }?.description
        message.account = account ?? subject
        addTimes(to: &message, at: moment)
        message.scope = scope
        message.serverTokenType = serverTokenType
        message.rotation = rotation?.word ?? "unknown"
        message.storage = storage.word
        message.reason = reason?.rawValue
        message.endedBy = endedBy?.rawValue
        message.endedAt = endedAt?.secondsSince1970
        message.message = self.message.map(hidden.message)
        message.waiters = Int64(waiters)
        addHistory(to: &message, without: hidden)
        message.notes = notes(on: settings).wire
        message.remedy = hidden.remedy(remedy, for: self.message)
        message.kept = JSONObject(keptMembers.mapValues { .string($0) })
        let addresses = keptMembers.filter { name, value in
            settings.responseMembers.contains(name) && value.bytewise.contains("://")
        }
        if !addresses.isEmpty { message.baseAddresses = JSONObject(addresses.mapValues { .string($0) }) }
        return message
    }

    /// Returns the session's status for a `[[socket]]`: only what a helper requires, and nothing about the
    /// login.
    func restrictedMessage(_ settings: SessionSettings, at moment: Moment) -> SessionMessage {
        var message = SessionMessage()
        message.session = name.description
        message.state = state.rawValue
        settings.addPlaces(to: &message)
        message.expiresAt = tokenExpiresAt.map { moment.wallTime(at: $0).secondsSince1970 }
        message.expiresIn = tokenExpiresAt.map { max(0, ($0 - moment.now).wholeSeconds) }
        return message
    }

    /// Returns the warnings about the tokens.
    ///
    /// Scopes that were requested but not granted come first. `stepUp` is what a login that has just been made
    /// requested in addition to the settings.
    func notes(on settings: SessionSettings, afterLogin stepUp: StepUp? = nil) -> [GrantWarning] {
        let missing = GrantWarning.scopes(
            asked: settings.scopes + (stepUp?.scopes ?? []),
            granted: scope,
            hasIDToken: hasIDToken,
            hasRefreshToken: hasRefreshToken,
            isNew: stepUp != nil
        )
        return [missing, unknownAccount(settings)].compactMap(\.self) + remarks
    }

    /// Returns a warning if the account is not verified although an ID token was requested, otherwise `nil`.
    private func unknownAccount(_ settings: SessionSettings) -> GrantWarning? {
        guard ["oidc", "oauth2"].contains(settings.kind), loggedInAt != nil, subject == nil,
            (settings.scopes + scope).contains(where: { $0.bytewise == "openid" })
        else { return nil }
        return GrantWarning(
            .accountUnknown,
            "the server returned no ID token at the login, so the account is unknown and not verified"
        )
    }

    /// The minimum difference of a server's clock that is reported, in seconds.
    private static let noticeableSkew: Int64 = 60

    private func addTimes(to message: inout SessionMessage, at moment: Moment) {
        func epoch(_ instant: Instant) -> Int64 { moment.wallTime(at: instant).secondsSince1970 }
        func seconds(_ duration: Duration) -> Int64 { max(0, duration.wholeSeconds) }
        message.expiresAt = tokenExpiresAt.map(epoch)
        message.expiresIn = tokenExpiresAt.map { seconds($0 - moment.now) }
        message.nextRefreshAt = nextRefreshAt.map(epoch)
        message.nextRefreshIn = nextRefreshAt.map { seconds($0 - moment.now) }
        message.refreshExpiresAt = refreshExpiresAt.map(epoch)
        message.loginEndsAt = loginEndsAt.map(epoch)
        if let noticeAt, noticeAt <= moment.now { message.endsSoon = true }
        message.maximumAge = maximumAge.map(seconds)
        message.loggedInAt = loggedInTime?.secondsSince1970
        message.age = loggedInAt.map { seconds(moment.now - $0) }
    }

    private func addHistory(to message: inout SessionMessage, without hidden: HiddenSources) {
        message.lastRefreshReason = history.lastRefreshReason?.rawValue
        message.lastRefreshAt = history.lastRefreshAt?.secondsSince1970
        if let ahead = history.serverClockAhead?.wholeSeconds, abs(ahead) >= Self.noticeableSkew {
            message.serverClockAhead = ahead
        }
        message.refreshes = Int64(history.refreshes)
        let failures = history.failures.map { ($0.key.rawValue, JSONValue.integer($0.value)) }
        message.failures = JSONObject(Dictionary(uniqueKeysWithValues: failures))
        guard let failure = history.lastFailure else { return }
        message.lastError = LastErrorMessage {
            $0.failureClass = failure.kind.rawValue
            $0.code = failure.code
            $0.refreshReason = history.lastFailedReason?.rawValue
            $0.message = hidden.message(failure.message)
            $0.at = history.lastFailureAt?.secondsSince1970
        }
    }
}

extension [GrantWarning] {
    /// The warnings as a message, or `nil` if there are none.
    var wire: [NoteMessage]? {
        guard !isEmpty else { return nil }
        return map { remark in
            NoteMessage {
                $0.code = remark.kind.rawValue
                $0.message = remark.message
            }
        }
    }
}

extension RotationHabit {
    fileprivate var word: String {
        switch self {
        case .unknown: "unknown"
        case .rotates: "rotates"
        case .keeps: "keeps"
        }
    }
}

extension CommitDurability {
    fileprivate var word: String {
        switch self {
        case .durable: "durable"
        case .lifeboat: "lifeboat"
        case .memoryOnly: "memory_only"
        }
    }
}

extension JSONObject {
    /// Creates an object with the members in the order of their names.
    fileprivate init(_ members: [String: JSONValue]) {
        self.init()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { self[name] = value }
    }
}

extension SessionSettings {
    /// Adds the hosts and resources that may receive the session's tokens.
    package func addPlaces(to message: inout SessionMessage) {
        if !hosts.isEmpty { message.hosts = hosts }
        message.resource = resource
        if !resources.isEmpty { message.resources = resources }
        if hasHostsOfResource { message.hasHostsOfResource = true }
    }
}
