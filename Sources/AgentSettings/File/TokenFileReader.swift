// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A reader of one `[[file]]`.
struct TokenFileReader {
    /// The maximum size of the file's name in bytes, so that the longer temporary name also fits: 255 on most
    /// file systems.
    private static let maximumNameLength = 200

    var table: TableReader
    let places: PlaceReader
    /// The settings with the sessions of all files.
    let settings: Settings
    let known: KnownSessions
    /// The list for errors in other files that affect only this table.
    let remarks: ProblemList

    /// Reads the file, or returns `nil` with the reasons in one of the problem lists.
    mutating func read() -> FileSettings? {
        let path = path()
        let session = session()
        let wantsIDToken = table.boolean("id_token") ?? false
        let scopes = table.wordsToAskFor("scopes", "scope")
        let audience = audience()
        let format = table.word("format", FileSettings.Format.self) ?? .token
        table.refuseUnknownKeys()
        guard let path, let session, table.problems.isEmpty else { return nil }
        return FileSettings(
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
            table.report("path", "is missing: the path of the file")
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
        guard name.count <= TokenFileReader.maximumNameLength else {
            table.report("path", "has a name of more than \(TokenFileReader.maximumNameLength) bytes")
            return nil
        }
        guard !name.starts(with: ".".utf8) || !Array(name).suffix(4).elementsEqual(".new".utf8) else {
            table.report("path", "must not end with /.NAME.new: there the next content of NAME is written")
            return nil
        }
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            table.report("path", "must hold no control characters")
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
        guard let word = table.required("session", "the session whose token the file holds") else {
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
            note("the file does without the session \"\(word)\": \(reason)", about: SessionName(word))
        } else if known.names.contains(word) {
            // The session's own error has been reported.
            guard table.problems.isEmpty else { return }
            note("the file does without the session \"\(word)\": it has a mistake", about: SessionName(word))
        } else {
            let nearest =
                SpellingSuggestion.to(word, among: known.names).map { "; did you mean \($0)?" } ?? ""
            table.report("session", "there is no session \"\(word)\"\(nearest)")
        }
    }

    private func note(_ message: String, about session: SessionName?) {
        remarks.add(table.name(of: "session"), at: table.position(of: "session"), message, about: session)
    }

    /// Returns the reason no file may hold tokens of `session`, or `nil` if one may.
    private func objection(to session: ConfiguredSession) -> String? {
        let name = session.name
        guard !session.hasRoleCredentials else {
            return "names \(name), which has the credentials of a role and no token; see tokenctl aws"
        }
        guard !session.bindsTokens else {
            return "names \(name), whose tokens are bound to a key (dpop): a file with one is of no use"
        }
        let others = SessionLineage(settings.sessions).ruleGivers(of: session)
        let ruled = settings.sessions.first { other in
            (other.name == name || others.contains(other.name)) && !other.rules.isEmpty
        }
        guard let ruled else { return nil }
        let whose = ruled.name == name ? "which" : "made from \(ruled.name), which"
        return
            "names \(name), \(whose) has rules (allow): every reader of the file has the token, so remove either"
    }
}
