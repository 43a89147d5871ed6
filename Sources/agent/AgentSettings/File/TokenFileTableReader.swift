// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A reader of one `[[file]]`.
struct TokenFileTableReader {
    /// The maximum size of the file's name in bytes, so that the longer temporary name also fits: 255 on most
    /// file systems.
    private static let maximumNameLength = 200

    var table: TableReader
    let places: ListeningSocketPathReader
    /// The settings with the sessions of all files.
    let settings: Settings
    let known: KnownSessions
    /// The list for errors in other files that affect only this table.
    let remarks: ProblemCollector

    /// Reads the file, or returns `nil` with the reasons in one of the problem lists.
    mutating func read() -> TokenFileSettings? {
        let path = path()
        let session = session()
        let wantsIDToken = table.boolean("id_token") ?? false
        let scopes = table.wordsToAskFor("scopes", "scope")
        let audience = audience()
        let format = table.word("format", TokenFileSettings.Format.self) ?? .token
        table.refuseUnknownKeys()
        guard let path, let session, table.problems.isEmpty else { return nil }
        return TokenFileSettings(
            path: path,
            session: session,
            wantsIDToken: wantsIDToken,
            scopes: scopes,
            audience: audience,
            format: format
        )
    }

    private mutating func path() -> String? {
        guard table.has("path") else {
            table.report("path", "required: path of the file")
            return nil
        }
        guard let path = table.path("path", home: places.home) else { return nil }
        let names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let name = names.last, !name.isEmpty, !name.elementsEqual(".".utf8),
            !name.elementsEqual("..".utf8)
        else {
            table.report("path", "must be the path of a file, not of a directory")
            return nil
        }
        guard name.count <= TokenFileTableReader.maximumNameLength else {
            table.report(
                "path",
                "has a file name longer than \(TokenFileTableReader.maximumNameLength) bytes"
            )
            return nil
        }
        guard !name.starts(with: ".".utf8) || !Array(name).suffix(4).elementsEqual(".new".utf8) else {
            table.report("path", "must not end with /.NAME.new, the path of the next version of NAME")
            return nil
        }
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            table.report("path", "must not contain control characters")
            return nil
        }
        if let objection = places.reservedPaths?.objection(toReplacing: path) {
            table.report("path", objection)
            return nil
        }
        return path
    }

    private mutating func audience() -> String? {
        guard let audience = table.string("audience") else { return nil }
        guard audience.utf8.isVisibleWord else {
            table.report("audience", "must be one word of printable ASCII")
            return nil
        }
        return audience
    }

    private mutating func session() -> SessionName? {
        guard let word = table.required("session", "session that provides the token") else {
            return nil
        }
        guard let session = settings.sessions.first(where: { $0.name.description == word }) else {
            reportAbsence(of: word)
            return nil
        }
        guard let objection = objection(to: session) else { return session.name }
        if settings.places[session.name]?.file == nil {
            table.report("session", objection)
        } else {
            // An error in another file must not make this one useless.
            note(objection, about: session.name)
        }
        return nil
    }

    private func reportAbsence(of word: String) {
        if let reason = known.absence(of: word) {
            note("session \"\(word)\" is unavailable: \(reason)", about: SessionName(word))
        } else if known.names.contains(word) {
            // The session's own error has been reported.
            guard table.problems.isEmpty else { return }
            note("session \"\(word)\" is unavailable: it has an error", about: SessionName(word))
        } else {
            let nearest =
                WordSuggestion.question(about: word, among: known.names)
            table.report("session", "no session named \"\(word)\"\(nearest)")
        }
    }

    private func note(_ message: String, about session: SessionName?) {
        remarks.add(table.name(of: "session"), at: table.position(of: "session"), message, about: session)
    }

    /// Returns the reason no file may hold tokens of `session`, or `nil` if one may.
    private func objection(to session: ConfiguredSession) -> String? {
        let name = session.name
        guard !session.hasRoleCredentials else {
            let remedy = Remedy.see("tokenctl aws --help")
            return "session \"\(name)\" has role credentials and no token \(remedy.parenthesized)"
        }
        guard !session.bindsTokens else {
            return "tokens of session \"\(name)\" are bound to a key (dpop) and unusable in a file"
        }
        let others = DerivationGraph(settings.sessions).ruleGivers(of: session)
        let ruled = settings.sessions.first { other in
            (other.name == name || others.contains(other.name)) && !other.rules.isEmpty
        }
        guard let ruled else { return nil }
        let use = ruled.name == name ? "" : ", a source of \"\(name)\","
        return "session \"\(ruled.name)\"\(use) has allow rules, which a file cannot enforce"
    }
}
