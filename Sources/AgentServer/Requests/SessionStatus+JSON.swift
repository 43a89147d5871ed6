// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension SessionStatus {
    /// The session as `GET /v1/sessions/NAME` shows it.
    func json(_ settings: SessionSettings, at moment: Moment) -> JSONValue {
        var object = JSONObject()
        object["session"] = .string(name.description)
        object["state"] = .string(state.rawValue)
        object["kind"] = .string(settings.kind)
        object["issuer"] = .string(settings.issuer)
        if !settings.hosts.isEmpty { object["hosts"] = .strings(settings.hosts) }
        object["account"] = (account ?? subject).map { .string($0) }
        addTimes(to: &object, at: moment)
        object["scope"] = .strings(scope)
        object["rotation"] = .string(rotation?.word ?? "unknown")
        object["storage"] = .string(storage.word)
        object["reason"] = reason.map { .string($0.rawValue) }
        object["message"] = message.map { .string($0) }
        object["waiters"] = .integer(waiters)
        addHistory(to: &object)
        object["notes"] = notes(on: settings).json
        object["remedy"] = remedy.map { .string($0) }
        object["kept"] = .object(
            JSONObject(keptMembers.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
        )
        return .object(object)
    }

    /// The session as it is shown at a `[[socket]]`: what a helper has to know, and nothing of the login.
    func restrictedJSON(_ settings: SessionSettings, at moment: Moment) -> JSONValue {
        var object = JSONObject()
        object["session"] = .string(name.description)
        object["state"] = .string(state.rawValue)
        if !settings.hosts.isEmpty { object["hosts"] = .strings(settings.hosts) }
        object["expires_at"] = tokenExpiresAt.map { .integer(moment.wallTime(at: $0).secondsSince1970) }
        object["expires_in"] = tokenExpiresAt.map { .integer(max(0, ($0 - moment.now).wholeSeconds)) }
        return .object(object)
    }

    /// What to know about the tokens, the scopes first that the configuration asks for and the server did not grant.
    func notes(on settings: SessionSettings) -> [GrantRemark] {
        let missing = GrantRemark.scopes(
            asked: settings.scopes,
            granted: scope,
            hasIDToken: hasIDToken,
            hasRefreshToken: hasRefreshToken
        )
        return [missing].compactMap(\.self) + remarks
    }

    /// Seconds by which a server's clock may differ before it is worth a word.
    private static let noticeableSkew: Int64 = 60

    private func addTimes(to object: inout JSONObject, at moment: Moment) {
        func epoch(_ instant: Instant) -> JSONValue {
            .integer(moment.wallTime(at: instant).secondsSince1970)
        }
        func seconds(_ duration: Duration) -> JSONValue { .integer(max(0, duration.wholeSeconds)) }
        object["expires_at"] = tokenExpiresAt.map(epoch)
        object["expires_in"] = tokenExpiresAt.map { seconds($0 - moment.now) }
        object["next_refresh_at"] = nextRefreshAt.map(epoch)
        object["next_refresh_in"] = nextRefreshAt.map { seconds($0 - moment.now) }
        object["refresh_expires_at"] = refreshExpiresAt.map(epoch)
        object["login_ends_at"] = loginEndsAt.map(epoch)
        object["max_session_age"] = maximumAge.map(seconds)
        object["logged_in_at"] = loggedInTime.map { .integer($0.secondsSince1970) }
        object["session_age"] = loggedInAt.map { seconds(moment.now - $0) }
    }

    private func addHistory(to object: inout JSONObject) {
        object["last_refresh_reason"] = history.lastRefreshReason.map { .string($0.rawValue) }
        object["last_refresh_at"] = history.lastRefreshAt.map { .integer($0.secondsSince1970) }
        if let ahead = history.serverClockAhead?.wholeSeconds, abs(ahead) >= Self.noticeableSkew {
            object["server_clock_ahead"] = .integer(ahead)
        }
        object["refreshes"] = .integer(history.refreshes)
        let failures = history.failures.sorted { $0.key.rawValue < $1.key.rawValue }
        object["failures"] = .object(JSONObject(failures.map { ($0.key.rawValue, .integer($0.value)) }))
        guard let failure = history.lastFailure else { return }
        var error = JSONObject()
        error["class"] = .string(failure.kind.rawValue)
        error["code"] = failure.code.map { .string($0) }
        error["refresh_reason"] = history.lastFailedReason.map { .string($0.rawValue) }
        error["message"] = .string(failure.message)
        error["at"] = history.lastFailureAt.map { .integer($0.secondsSince1970) }
        object["last_error"] = .object(error)
    }
}

extension [GrantRemark] {
    /// A list of codes and messages; `nil`: there is nothing to say.
    var json: JSONValue? {
        guard !isEmpty else { return nil }
        return .array(map { ["code": .string($0.kind.rawValue), "message": .string($0.message)] })
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
    /// An object of members whose names are unique.
    init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}
