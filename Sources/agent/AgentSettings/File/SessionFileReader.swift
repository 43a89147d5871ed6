// SPDX-License-Identifier: MIT

import ServerSettings
import TOML
import TokenCore

/// A reader of the files in `sessions.d`, in which an error affects only the file's own session.
struct SessionFileReader {
    let surroundings: CommonSessionSettings
    /// The path of the configuration file, for messages.
    let configuration: String

    /// Adds the sessions of `files`, their locations and their errors to `settings`.
    ///
    /// - Parameters:
    ///   - files: the files found.
    ///   - settings: the content of the configuration file.
    ///   - tables: the tables of the sessions read so far.
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
            let problems = ProblemCollector(file: file.path, session: file.name)
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

    /// Reads the session of `file`, or returns `nil` with the reasons in `problems`.
    private func read(
        _ file: SessionFiles.File,
        _ other: SessionTableLocation?,
        _ problems: ProblemCollector
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
            if problems.isEmpty { problems.add("", at: start, "must contain the table \(file.name.header)") }
            return nil
        }
        root.refuseAllElse("belongs in \(configuration): this file may contain only one session")
        let reader = sessions.table(file.name.description)
        sessions.refuseAllElse("belongs in its own file: this one is for \(file.name.header)")
        guard let reader else {
            if problems.isEmpty { problems.add("", at: start, "must contain the table \(file.name.header)") }
            return nil
        }
        if let other {
            let place = "\(other.file ?? configuration):\(other.line)"
            problems.add(
                reader.path,
                at: reader.position,
                "has no effect: also defined at \(place), which takes precedence"
            )
        }
        var session = SessionReader(name: file.name, table: reader, surroundings: surroundings)
        guard let session = session.read(), problems.isEmpty else { return nil }
        return (session, reader)
    }
}

/// The sessions that tables of the configuration file may name.
struct KnownSessions {
    /// The names in the configuration file, valid or not, and in `sessions.d`.
    var names: [String] = []
    /// The sessions whose file exists but has an error.
    var unread: Set<SessionName>
    /// Whether all sessions are known: `sessions.d` was read, or does not exist.
    var areAllKnown: Bool

    /// Returns the reason a session `name` may exist without being known, or `nil` if it does not exist.
    func absence(of name: String) -> String? {
        if SessionName(name).map(unread.contains) == true { return "its file has an error" }
        return areAllKnown ? nil : "\(SessionFiles.directory) was not read completely"
    }
}

extension SessionName {
    /// The header of its table, with a name that contains a dot in quotes.
    fileprivate var header: String {
        "[session.\(description.utf8.contains(UInt8(ascii: ".")) ? "\"\(self)\"" : description)]"
    }
}
