// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SessionStatus {
    /// The session as `GET /v1/sessions/NAME` shows it to a peer that may not know of `hidden`.
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
        return message
    }

    /// The session as it is shown at a `[[socket]]`: what a helper has to know, and nothing of the login.
    func restrictedMessage(_ settings: SessionSettings, at moment: Moment) -> SessionMessage {
        var message = SessionMessage()
        message.session = name.description
        message.state = state.rawValue
        settings.addPlaces(to: &message)
        message.expiresAt = tokenExpiresAt.map { moment.wallTime(at: $0).secondsSince1970 }
        message.expiresIn = tokenExpiresAt.map { max(0, ($0 - moment.now).wholeSeconds) }
        return message
    }

    /// What to know about the tokens; scopes that were asked for and not granted come first.
    func notes(on settings: SessionSettings) -> [GrantWarning] {
        let missing = GrantWarning.scopes(
            asked: settings.scopes,
            granted: scope,
            hasIDToken: hasIDToken,
            hasRefreshToken: hasRefreshToken
        )
        return [missing, unknownAccount(settings)].compactMap(\.self) + remarks
    }

    /// That nobody has verified whose login it is, where that was asked for.
    private func unknownAccount(_ settings: SessionSettings) -> GrantWarning? {
        guard ["oidc", "oauth2"].contains(settings.kind), loggedInAt != nil, subject == nil,
            (settings.scopes + scope).contains(where: { $0.bytewise == "openid" })
        else { return nil }
        return GrantWarning(
            .accountUnknown,
            "the server sent no ID token with the login, so the account is unknown and nothing about it was verified"
        )
    }

    /// Seconds by which a server's clock may differ before it is worth a word.
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
    /// `nil` if there is nothing to say.
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

extension CommitOutcome {
    fileprivate var word: String {
        switch self {
        case .durable: "durable"
        case .lifeboat: "lifeboat"
        case .memoryOnly: "memory_only"
        }
    }
}

extension JSONObject {
    /// The members in the order of their names.
    fileprivate init(_ members: [String: JSONValue]) {
        self.init()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { self[name] = value }
    }
}

extension SessionSettings {
    /// Adds where the session's tokens may go.
    package func addPlaces(to message: inout SessionMessage) {
        if !hosts.isEmpty { message.hosts = hosts }
        message.resource = resource
        if !resources.isEmpty { message.resources = resources }
        if hasHostsOfResource { message.hasHostsOfResource = true }
    }
}
