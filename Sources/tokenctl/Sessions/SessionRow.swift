// SPDX-License-Identifier: MIT

import Text

/// The state of one session as the agent reports it, read for printing.
struct SessionRow {
    private let object: JSONObject

    init(_ object: JSONObject) {
        self.object = object
    }

    var name: String { text("session") ?? "?" }
    var state: String { text("state") ?? "?" }

    /// One row of the table.
    var row: [String] {
        [name, state, phrase("expires_in"), phrase("next_refresh_in"), loginEnd, note].map {
            TerminalText.escaped($0, longest: 120)
        }
    }

    static let columns = ["SESSION", "STATE", "EXPIRES", "NEXT REFRESH", "LOGIN ENDS", "NOTE"]

    /// Everything there is to say, a name and a value per line.
    var details: [(name: String, value: String)] {
        let lines: [(String, String?)] = [
            ("session", name), ("state", state), ("reason", text("reason")), ("message", text("message")),
            ("kind", text("kind")),
            ("issuer", text("issuer")), ("account", text("account")),
            ("expires", instant("expires_at", "expires_in")),
            ("next refresh", instant("next_refresh_at", "next_refresh_in")),
            ("login ends", instant("login_ends_at", nil)),
            ("refresh token ends", instant("refresh_expires_at", nil)),
            ("logged in", instant("logged_in_at", nil)), ("session age", seconds("session_age")),
            ("age at most", seconds("max_session_age")),
            ("scopes", scopes), ("rotation", text("rotation")), ("storage", text("storage")),
            ("last refresh", lastRefresh), ("refreshes", number("refreshes")),
            ("waiters", number("waiters")), ("server clock", clockDifference),
            ("failures", failures), ("last error", lastError), ("to do", text("remedy")),
        ]
        let kept =
            object["kept"]?.object?.members.map { ("kept \($0.name)", Optional($0.value.plainText)) } ?? []
        let notes = (object["notes"]?.array ?? []).map { ("note", $0.object?["message"]?.string) }
        return (lines + notes + kept).compactMap { name, value in
            guard let value, !value.isEmpty else { return nil }
            return (TerminalText.escaped(name), TerminalText.escaped(value))
        }
    }

    /// When, and why.
    private var lastRefresh: String? {
        guard let time = instant("last_refresh_at", nil) else { return nil }
        return [time, text("last_refresh_reason").map { String($0.map { $0 == "_" ? " " : $0 }) }]
            .compactMap(\.self).joined(separator: ", ")
    }

    private var loginEnd: String {
        guard let end = object["login_ends_at"]?.integer else { return "" }
        return DurationPhrase.relative(end - WallClock.seconds)
    }

    /// Why it does not serve, and what to do.
    private var note: String {
        let reason = state == "ready" ? nil : text("message") ?? lastErrorMessage ?? text("reason")
        switch (reason, text("remedy")) {
        case (let reason?, let remedy?): return "\(reason); \(remedy)"
        case (let only?, nil), (nil, let only?): return only
        case (nil, nil): return ""
        }
    }

    private var scopes: String? {
        object["scope"]?.array?.compactMap(\.string).joined(separator: " ") ?? text("scope")
    }

    private var failures: String? {
        object["failures"]?.object?.members.map { "\($0.name) \($0.value.plainText)" }.joined(separator: ", ")
    }

    private var lastErrorMessage: String? { object["last_error"]?.object?["message"]?.string }

    private var lastError: String? {
        guard let error = object["last_error"]?.object else { return nil }
        let code = error["code"]?.string ?? error["class"]?.string
        let age = error["at"]?.integer.map { " (\(DurationPhrase.relative($0 - WallClock.seconds)))" } ?? ""
        return [code, error["message"]?.string].compactMap(\.self).joined(separator: ": ") + age
    }

    private func text(_ name: String) -> String? { object[name]?.string }

    private var clockDifference: String? {
        object["server_clock_ahead"]?.integer.map { ahead in
            "\(DurationPhrase.short(abs(ahead))) \(ahead > 0 ? "ahead of" : "behind") this computer"
        }
    }

    private func number(_ name: String) -> String? { object[name]?.integer.map { String($0) } }

    private func seconds(_ name: String) -> String? { object[name]?.integer.map { DurationPhrase.short($0) } }

    private func phrase(_ name: String) -> String {
        object[name]?.integer.map { DurationPhrase.relative($0) } ?? ""
    }

    /// An instant and how far away it is.
    private func instant(_ name: String, _ distance: String?) -> String? {
        guard let at = object[name]?.integer else { return nil }
        let away = distance.flatMap { object[$0]?.integer } ?? at - WallClock.seconds
        return "\(DurationPhrase.rfc3339(at)) (\(DurationPhrase.relative(away)))"
    }
}

extension JSONValue {
    /// A string without its quotes, anything else as JSON.
    var plainText: String { string ?? text }
}
