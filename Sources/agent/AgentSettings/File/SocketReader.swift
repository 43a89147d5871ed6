// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import Text
import TokenCore

/// A reader of one `[[socket]]`.
struct SocketReader {
    var table: TableReader
    let places: ListeningSocketPathReader
    /// The settings with the sessions of all files.
    let settings: Settings
    let known: KnownSessions
    /// The list for errors in other files that do not make the socket useless.
    let remarks: ProblemCollector

    /// Reads the socket, or returns `nil` with the reasons in the problem list.
    mutating func read() -> RestrictedSocketSettings? {
        let path = path()
        let names = sessionNames()
        let scopes = table.wordsToAskFor("scopes", "scope")
        let audiences = table.wordsToAskFor("audiences", "audience")
        let mode = mode()
        let group = group()
        let users = AccountDatabase.users(&table)
        let answer = table.word("answer", SocketResponseFormat.self) ?? .http
        table.refuseUnknownKeys()
        guard let path, let mode else { return nil }
        checkAccess(mode, group, users)
        if answer == .token {
            checkBareToken(names)
            guard !hasObjection(to: names) else { return nil }
        }
        guard table.problems.isEmpty else { return nil }
        return RestrictedSocketSettings(
            path: path,
            sessions: names,
            scopes: scopes,
            audiences: audiences,
            mode: mode,
            group: group,
            users: users,
            answer: answer
        )
    }

    private mutating func path() -> String? {
        guard table.has("path") else {
            table.report("path", "required: path of the socket")
            return nil
        }
        return places.socket("path", in: &table)
    }

    private mutating func sessionNames() -> [SessionName] {
        let words = table.strings("sessions")
        if words?.isEmpty ?? !table.has("sessions") {
            table.report("sessions", "required: at least one session")
        }
        for word in words ?? [] where !known.names.contains(word) {
            if let reason = known.absence(of: word) {
                remarks.add(
                    table.name(of: "sessions"),
                    at: table.position(of: "sessions"),
                    "session \"\(word)\" is unavailable: \(reason)",
                    about: SessionName(word)
                )
            } else {
                let nearest =
                    WordSuggestion.question(about: word, among: known.names)
                table.report("sessions", "no session named \"\(word)\"\(nearest)")
            }
        }
        return (words ?? []).compactMap { SessionName($0) }
    }

    /// Reads three octal digits: 6, then 0 or 6 twice, since connecting to a socket requires write
    /// permission.
    private mutating func mode() -> UInt32? {
        guard table.has("mode") else { return 0o600 }
        guard let text = table.string("mode") else { return nil }
        let digits = text.hasPrefix("0") ? text.dropFirst() : text[...]
        guard digits.count == 3, digits.first == "6", digits.allSatisfy({ $0 == "0" || $0 == "6" }) else {
            table.report("mode", "must be \"0600\", \"0660\", \"0606\" or \"0666\", not \"\(text)\"")
            return nil
        }
        return UInt32(digits, radix: 8)
    }

    private mutating func group() -> UInt32? {
        guard let text = table.string("group") else { return nil }
        if let number = AccountDatabase.group(text) { return number }
        table.report("group", "no group named \"\(text)\"")
        return nil
    }

    /// Reports keys that cannot apply to bare tokens.
    private func checkBareToken(_ names: [SessionName]) {
        for key in ["scopes", "audiences"] where table.has(key) {
            table.report(key, "cannot be combined with answer = \"token\"")
        }
        if names.count > 1 {
            table.report("sessions", "must name only one session with answer = \"token\"")
        }
    }

    /// Reports the first session whose token cannot be served bare.
    ///
    /// - Returns: `true` if there is one.
    private func hasObjection(to names: [SessionName]) -> Bool {
        for session in settings.sessions where names.contains(session.name) {
            guard let reason = session.objectionToBareTokens else { continue }
            let message = "cannot be \"token\" for session \"\(session.name)\": \(reason)"
            if settings.places[session.name]?.file == nil {
                table.report("answer", message)
            } else {
                // An error in another file must not make this one useless.
                remarks.add(
                    table.name(of: "answer"),
                    at: table.position(of: "answer"),
                    message,
                    about: session.name
                )
            }
            return true
        }
        return false
    }

    /// Reports keys that have no effect because of another key.
    private func checkAccess(_ mode: UInt32, _ group: UInt32?, _ users: [UInt32]) {
        let isOpen = mode & 0o066 != 0
        if isOpen, !table.has("users") {
            table.report("mode", "lets other users connect, but users allows none of them")
        }
        // Root needs no permission.
        if !isOpen, users.contains(where: { $0 != 0 }) {
            table.report("users", "has no effect: mode gives other users no access")
        }
        if group != nil, mode & 0o060 == 0 {
            table.report("group", "has no effect: mode gives the group no access")
        }
    }
}

extension ConfiguredSession {
    /// The reason a program cannot use its bare token, or `nil` if it can.
    fileprivate var objectionToBareTokens: String? {
        if bindsTokens { return "DPoP tokens require a proof for each request" }
        return hasRoleCredentials ? "it has role credentials and no token" : nil
    }
}
