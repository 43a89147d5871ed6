// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The state of one session, prepared for display.
struct DisplayedSession {
    /// The maximum number of characters of a remedy: a truncated command does not work.
    private static let maximumRemedyLength = 4_500

    private let message: SessionMessage

    init(_ message: SessionMessage) {
        self.message = message
    }

    var name: String { message.session ?? "?" }
    var state: String { message.state ?? "?" }

    /// The row of the table.
    var row: [String] {
        [name, state, phrase(message.expiresIn), phrase(message.nextRefreshIn), loginEnd, note].map {
            TerminalText.escaped($0, longest: 120)
        }
    }

    static let columns = ["SESSION", "STATE", "EXPIRES", "NEXT REFRESH", "LOGIN ENDS", "NOTE"]

    /// All details, each with a name and a value.
    var details: [(name: String, value: String)] {
        let lines: [(String, String?)] = [
            ("session", name), ("state", state), ("reason", message.reason), ("ended", end),
            ("message", message.message),
            ("kind", message.kind), ("issuer", message.issuer), ("account", account),
            ("expires", instant(message.expiresAt, message.expiresIn)),
            ("next refresh", instant(message.nextRefreshAt, message.nextRefreshIn)),
            ("login ends", instant(message.loginEndsAt)),
            ("refresh token expires", instant(message.refreshExpiresAt)),
            ("logged in", instant(message.loggedInAt)),
            ("session age", message.age.map(DurationPhrase.short)),
            ("maximum age", message.maximumAge.map(DurationPhrase.short)),
            ("scopes", message.scope?.joined(separator: " ")), ("token type", message.serverTokenType),
            ("rotation", message.rotation),
            ("storage", message.storage), ("last refresh", lastRefresh),
            ("refreshes", message.refreshes.map { String($0) }),
            ("waiters", message.waiters.map { String($0) }), ("server clock", clockDifference),
            ("failures", failures), ("last error", lastError),
        ]
        let kept = message.kept?.members.map { ("kept \($0.name)", Optional($0.value.plainText)) } ?? []
        let notes = (message.notes ?? []).map { ("note", $0.message) }
        return (lines + notes + kept).compactMap { name, value in
            guard let value, !value.isEmpty else { return nil }
            return (TerminalText.escaped(name), TerminalText.escaped(value))
        }
    }

    /// The last line of the details, or `nil` if nothing has to be done.
    var remedy: String? {
        message.remedy.map {
            let text = TerminalText.escaped($0.text, longest: DisplayedSession.maximumRemedyLength)
            return Remedy($0.kind, text).indented
        }
    }

    /// The account of the login, marked if its verification was required and failed.
    private var account: String? {
        let isUnverified = message.notes?.contains { $0.code?.bytewise == "account_unknown" } == true
        return isUnverified ? "\(message.account ?? "unknown") (not verified)" : message.account
    }

    /// The time and reason of the last refresh.
    private var lastRefresh: String? {
        guard let time = instant(message.lastRefreshAt) else { return nil }
        return [time, message.lastRefreshReason.map { String($0.map { $0 == "_" ? " " : $0 }) }]
            .compactMap(\.self).joined(separator: ", ")
    }

    /// The time at which the login ended, and the actor that ended it.
    private var end: String? {
        let by = message.endedBy.map { "by the \($0)" }
        let words = [instant(message.endedAt), by].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    private var loginEnd: String {
        guard let end = message.loginEndsAt else { return "" }
        return DurationPhrase.relative(end - WallClock.seconds)
    }

    /// The reason why the session is not ready, and the remedy in parentheses.
    private var note: String {
        let reason = state == "ready" ? nil : message.message ?? message.lastError?.message ?? message.reason
        switch (reason, message.remedy) {
        case (let reason?, let remedy?): return "\(reason) \(remedy.parenthesized)"
        case (let reason?, nil): return reason
        case (nil, let remedy?): return remedy.parenthesized
        case (nil, nil): return ""
        }
    }

    private var failures: String? {
        message.failures?.members.map { "\($0.name) \($0.value.plainText)" }.joined(separator: ", ")
    }

    private var lastError: String? {
        guard let error = message.lastError else { return nil }
        let code = error.code ?? error.failureClass
        let age = error.at.map { " (\(DurationPhrase.relative($0 - WallClock.seconds)))" } ?? ""
        return [code, error.message].compactMap(\.self).joined(separator: ": ") + age
    }

    private var clockDifference: String? {
        message.serverClockAhead.map { ahead in
            "\(DurationPhrase.short(abs(ahead))) \(ahead > 0 ? "ahead of" : "behind") this computer"
        }
    }

    private func phrase(_ seconds: Int64?) -> String { seconds.map { DurationPhrase.relative($0) } ?? "" }

    /// Formats an instant and its distance.
    private func instant(_ at: Int64?, _ distance: Int64? = nil) -> String? {
        guard let at else { return nil }
        let away = distance ?? at - WallClock.seconds
        return "\(DurationPhrase.rfc3339(at)) (\(DurationPhrase.relative(away)))"
    }
}

extension JSONValue {
    /// The string without quotes, or any other value as JSON.
    var plainText: String { string ?? text }
}
