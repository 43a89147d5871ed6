// SPDX-License-Identifier: MIT

import TOML
import TokenCore

/// Reads the files of `sessions.d`, each of which may cost its own session and nothing else.
struct SessionFileReader {
    let surroundings: SessionContext
    /// The path of the configuration file, for messages.
    let configuration: String

    /// Adds the sessions of `files` to those of the configuration file, with their places and their mistakes.
    ///
    /// - Parameters:
    ///   - files: as they were found.
    ///   - settings: what the configuration file says.
    ///   - tables: where the keys of each session are.
    /// - Returns: the sessions that other tables may name.
    func read(
        _ files: SessionFiles,
        into settings: inout Settings,
        _ tables: inout [SessionName: TableReader]
    ) -> KnownSessions {
        settings.mistakes += files.mistakes
        settings.lacksFiles = !files.areAllKnown
        var known = KnownSessions(unread: files.unread, areAllKnown: files.areAllKnown)
        for file in files.files {
            let problems = ProblemList(file: file.path, session: file.name)
            let session = read(file, settings.places[file.name], problems)
            settings.mistakes += problems.inOrder
            if let (session, table) = session {
                settings.sessions.append(session)
                let line = table.position.line
                settings.places[file.name] = SessionTableLocation(file: file.path, line: line)
                tables[file.name] = table
            } else if settings.places[file.name] == nil {
                known.unread.insert(file.name)
            }
        }
        known.names = settings.places.keys.map(\.description).sorted()
        return known
    }

    /// The session of `file`, or `nil` with the reasons in `problems`.
    private func read(
        _ file: SessionFiles.File,
        _ other: SessionTableLocation?,
        _ problems: ProblemList
    ) -> (ConfiguredSession, TableReader)? {
        let table: TOMLTable
        do throws(TOMLError) {
            table = try TOMLTable(parsing: file.text)
        } catch {
            problems.add("", at: error.position, error.message)
            return nil
        }
        let start = TOMLPosition(line: 1, column: 1)
        var root = TableReader(table, path: "", at: start, problems: problems)
        guard var sessions = root.table("session") else {
            if problems.isEmpty { problems.add("", at: start, "must hold the table \(file.name.header)") }
            return nil
        }
        root.refuseAllElse("belongs in \(configuration): this file holds one session and nothing else")
        let reader = sessions.table(file.name.description)
        sessions.refuseAllElse("belongs in a file of its own: this one is for \(file.name.header)")
        guard let reader else {
            if problems.isEmpty { problems.add("", at: start, "must hold the table \(file.name.header)") }
            return nil
        }
        if let other {
            let place = "\(other.file ?? configuration):\(other.line)"
            problems.add(
                reader.path,
                at: reader.position,
                "is also at \(place), which holds: remove one of them"
            )
        }
        var session = SessionReader(name: file.name, table: reader, surroundings: surroundings)
        guard let session = session.read(), problems.isEmpty else { return nil }
        return (session, reader)
    }
}

/// The sessions that tables of the configuration file may name.
struct KnownSessions {
    /// Of the configuration file, well written or not, and of the files beside it.
    var names: [String] = []
    /// Those whose file is there and has a mistake.
    var unread: Set<SessionName>
    /// Whether there can be no others: the files beside the configuration file were read, or there are none.
    var areAllKnown: Bool

    /// Why there may be a session `name` that is not known; `nil`: there is none.
    func absence(of name: String) -> String? {
        if SessionName(name).map(unread.contains) == true { return "its file has a mistake" }
        return areAllKnown ? nil : "\(SessionFiles.directory) is not read"
    }
}

extension SessionName {
    /// The line that begins its table; a name with a dot stands in quotes.
    fileprivate var header: String {
        "[session.\(description.utf8.contains(UInt8(ascii: ".")) ? "\"\(self)\"" : description)]"
    }
}
