// SPDX-License-Identifier: MIT

import ServerSettings
import TOML
import Text
import Threads
import TokenCore

/// A reader that turns the text of a configuration file into ``Settings``.
package struct SettingsReader {
    /// The maximum number of sessions in one file: ten times more than seen in practice, and still read
    /// within a second.
    private static let maximumSessions = 10_000
    /// The number of sessions from which a second thread pays off.
    private static let manySessions = 500

    private let places: ListeningSocketPathReader
    private let providers: ProviderCatalogue

    /// Creates a reader in which `~/` means `home`, and no table may use one of `reservedPaths`.
    package init(
        home: String?,
        reservedPaths: ReservedPaths? = nil,
        providers: ProviderCatalogue = ProviderCatalogue()
    ) {
        self.providers = providers
        places = ListeningSocketPathReader(home: home, reservedPaths: reservedPaths)
    }

    /// Parses and checks `text`.
    ///
    /// - Parameters:
    ///   - text: the bytes of the file.
    ///   - file: its path, for messages.
    /// - Returns: the settings with defaults filled in.
    /// - Throws: ``ConfigurationProblems`` with every error, not only the first; a syntax error hides the
    ///   errors after it.
    package func read(_ text: [UInt8], file: String) throws(ConfigurationProblems) -> Settings {
        try read(text, file: file, beside: SessionFiles())
    }

    /// Parses and checks `text` together with `files`, whose errors become part of the settings.
    func read(
        _ text: [UInt8],
        file: String,
        beside files: SessionFiles
    ) throws(ConfigurationProblems) -> Settings {
        let table: TOMLTable
        do {
            table = try TOMLTable(parsing: text)
        } catch {
            let problem = ConfigurationProblem(line: error.position.line, message: error.message)
            throw ConfigurationProblems(file: file, problems: [problem])
        }
        let problems = ProblemCollector()
        var root = TableReader(table, path: "", at: TOMLPosition(line: 1, column: 1), problems: problems)
        let settings = settings(&root, file, files)
        root.refuseUnknownKeys()
        guard problems.isEmpty else {
            throw ConfigurationProblems(file: file, problems: problems.inOrder + settings.mistakes)
        }
        return settings
    }

    /// Parses and checks a `[[proxy]]` that is in no file, by its keys alone.
    ///
    /// Its session is not checked: only the agent knows it, and may have another configuration.
    ///
    /// - Parameter text: the keys of the table.
    /// - Returns: the listener.
    /// - Throws: ``ConfigurationProblems`` with every error, without positions.
    package func proxy(_ text: String) throws(ConfigurationProblems) -> ProxyListenerSettings {
        let problems = ProblemCollector()
        do {
            var reader = ProxyListenerReader(
                table: TableReader(
                    try TOMLTable(parsing: Array(text.utf8)),
                    path: "",
                    at: TOMLPosition(line: 1, column: 1),
                    problems: problems
                ),
                places: places,
                known: KnownSessions(unread: [], areAllKnown: false),
                sessions: [:],
                remarks: problems
            )
            if let listener = reader.readProxyAlone() { return listener }
        } catch {
            problems.add("", at: nil, error.message)
        }
        let found = problems.inOrder.map { ConfigurationProblem(key: $0.key, message: $0.message) }
        throw ConfigurationProblems(file: "", problems: found)
    }

    private func settings(_ root: inout TableReader, _ file: String, _ files: SessionFiles) -> Settings {
        var settings = Settings()
        var policy = SessionPolicy()
        if var agent = root.table("agent") {
            settings.written[.agent] = agent.written
            policy = SessionPolicy(reading: &agent, defaults: policy)
            settings.logLevel = agent.word("log_level", LogLevel.self) ?? settings.logLevel
            settings.allowsRoot = agent.boolean("allow_root") ?? false
            settings.keepsAudit = agent.boolean("audit") ?? true
            settings.proxy = ForwardProxyReader.read(
                &agent,
                home: places.home,
                coversInternal: false,
                else: .environment
            )
            settings.userAgent = agent.string("user_agent")
            agent.refuseUnknownKeys()
        }
        if var hooks = root.table("hooks") {
            settings.written[.hooks] = hooks.written
            settings.hooks.loginRequired = hooks.optionalCommand("login_required")
            settings.hooks.event = hooks.optionalCommand("event")
            settings.hooks.confirm = hooks.optionalCommand("confirm")
            settings.hooks.isOnDesktop = hooks.boolean("desktop") ?? true
            hooks.refuseUnknownKeys()
        }
        if var vault = root.table("vault") {
            settings.written[.vault] = vault.written
            settings.vault.keyFile = vault.path("keyfile", home: places.home)
            settings.vault.requiresLockedMemory = vault.boolean("require_locked_memory") ?? false
            settings.vault.unlockCommand = vault.optionalCommand("unlock_command")
            settings.vault.rollbackCounter = vault.optionalCommand("rollback_counter")
            let accepted = vault.integer("rollback_counter_accept", in: 0...Int.max)
            settings.vault.acceptedCounter = accepted.map { UInt64($0) }
            vault.refuseUnknownKeys()
        }
        if let table = root.table("fleet") {
            settings.written[.fleet] = table.written
            var fleet = FleetReader(table, home: places.home)
            settings.fleet = fleet.read()
        }
        let known = readSessions(&root, policy, file, files, into: &settings)
        let remarks = ProblemCollector()
        settings.sockets = sockets(&root, settings, known, remarks)
        settings.files = tokenFiles(&root, settings, known, remarks)
        settings.listeners = listeners(&root, known, settings, remarks)
        checkListenerRules(settings, root.problems)
        settings.mistakes += remarks.inOrder
        settings.requireIDTokensGivenOut()
        return settings
    }

    /// Reads the sessions of the configuration file and of `files` into `settings`.
    private func readSessions(
        _ root: inout TableReader,
        _ policy: SessionPolicy,
        _ file: String,
        _ files: SessionFiles,
        into settings: inout Settings
    ) -> KnownSessions {
        var tables: [SessionName: TableReader] = [:]
        if var sessions = root.table("session") {
            let most = SettingsReader.maximumSessions
            if sessions.count > most {
                root.report("session", "contains \(sessions.count) sessions; the maximum is \(most)")
            } else {
                let surroundings = surroundings(root, settings, policy)
                let written = sessions.tables("a table, as in [session.NAME]")
                settings.places.reserveCapacity(written.count)
                tables.reserveCapacity(written.count)
                for (key, table) in written {
                    guard let name = SessionName(key) else { continue }
                    settings.places[name] = SessionTableLocation(line: table.position.line)
                    tables[name] = table
                }
                settings.sessions = SettingsReader.sessions(written, surroundings)
            }
        }
        let reader = SessionFileReader(
            surroundings: surroundings(root, settings, policy),
            configuration: file
        )
        let known = reader.read(files, into: &settings, &tables)
        SourceCheck(known, tables, root.problems).check(&settings)
        return known
    }

    private func surroundings(
        _ root: TableReader,
        _ settings: Settings,
        _ policy: SessionPolicy
    ) -> CommonSessionSettings {
        CommonSessionSettings(
            home: places.home,
            canAskPerson: !settings.hooks.confirm.isEmpty,
            policy: policy,
            proxy: settings.proxy,
            // A [fleet] with errors, which were reported already, counts as a keeper's.
            fleetRole: settings.fleet?.role ?? (root.has("fleet") ? .keeper : nil),
            userAgent: settings.userAgent,
            providers: providers
        )
    }

    private func sockets(
        _ root: inout TableReader,
        _ settings: Settings,
        _ known: KnownSessions,
        _ remarks: ProblemCollector
    ) -> [RestrictedSocketSettings] {
        var paths: Set<String> = []
        return root.tableArray("socket", "[[socket]]").compactMap { table in
            var reader = SocketReader(
                table: table,
                places: places,
                settings: settings,
                known: known,
                remarks: remarks
            )
            guard let socket = reader.read() else { return nil }
            if !paths.insert(ReservedPaths.place(of: socket.path)).inserted {
                table.report("path", "is already used by another [[socket]]")
            }
            return socket
        }
    }

    private func tokenFiles(
        _ root: inout TableReader,
        _ settings: Settings,
        _ known: KnownSessions,
        _ remarks: ProblemCollector
    ) -> [TokenFileSettings] {
        // One file may be reachable by several paths.
        var places = Set(settings.sockets.map { ReservedPaths.place(of: $0.path).bytewise })
        return root.tableArray("file", "[[file]]").compactMap { table in
            var reader = TokenFileTableReader(
                table: table,
                places: self.places,
                settings: settings,
                known: known,
                remarks: remarks
            )
            guard let file = reader.read() else { return nil }
            guard places.insert(ReservedPaths.place(of: file.path).bytewise).inserted else {
                table.report("path", "is already used by another [[file]] or [[socket]]")
                return nil
            }
            return file
        }
    }

    private func listeners(
        _ root: inout TableReader,
        _ known: KnownSessions,
        _ settings: Settings,
        _ remarks: ProblemCollector
    ) -> [ProxyListenerSettings] {
        // Lazy, because most configurations have no such table.
        lazy var sessions = Dictionary(settings.sessions.map { ($0.name, $0) }) { first, _ in first }
        var names: Set<String> = []
        var taken = Set((settings.sockets.map(\.path) + settings.files.map(\.path)).map(\.bytewise))
        func reader(of table: TableReader) -> ProxyListenerReader {
            ProxyListenerReader(
                table: table,
                places: places,
                known: known,
                sessions: sessions,
                remarks: remarks
            )
        }
        func add(_ listener: ProxyListenerSettings?, _ table: TableReader) -> ProxyListenerSettings? {
            guard let listener else { return nil }
            if !names.insert(listener.name).inserted {
                table.report("name", "is already used by another [[proxy]] or [[endpoint]]")
            }
            let place = listener.message.listen ?? ""
            if !place.hasSuffix(":0"), !taken.insert(place.bytewise).inserted {
                table.report("listen", "is already used by another table")
            }
            return listener
        }
        let proxies = root.tableArray("proxy", "[[proxy]]").compactMap { table in
            var listener = reader(of: table)
            return add(listener.readProxy(), table)
        }
        return proxies
            + root.tableArray("endpoint", "[[endpoint]]").compactMap { table in
                var listener = reader(of: table)
                return add(listener.readEndpoint(), table)
            }
    }

    /// Reports rules of `allow` that name a listener which does not exist.
    private func checkListenerRules(_ settings: Settings, _ problems: ProblemCollector) {
        guard problems.isEmpty else { return }
        let names = settings.listeners.map(\.name)
        for session in settings.sessions
        where !session.rules.isEmpty && settings.places[session.name]?.file == nil {
            for name in session.rules.compactMap(\.listener) where !names.contains(name) {
                let line = settings.places[session.name]?.line ?? 1
                let nearest = WordSuggestion.question(about: name, among: names)
                problems.add(
                    "session.\(session.name).allow",
                    at: TOMLPosition(line: line, column: 1),
                    "no [[proxy]] or [[endpoint]] named \"\(name)\"\(nearest)"
                )
            }
        }
    }

    /// Returns the sessions of `written`, half of them read on a second thread if there are many.
    private static func sessions(
        _ written: [(key: String, reader: TableReader)],
        _ surroundings: CommonSessionSettings
    ) -> [ConfiguredSession] {
        guard written.count >= manySessions else {
            return written.compactMap { session($0.key, $0.reader, surroundings) }
        }
        let half = written.count / 2
        let parts = ParallelComputation.both {
            written[..<half].compactMap { session($0.key, $0.reader, surroundings) }
        } _: {
            written[half...].compactMap { session($0.key, $0.reader, surroundings) }
        }
        return parts.0 + parts.1
    }

    private static func session(
        _ key: String,
        _ reader: TableReader,
        _ surroundings: CommonSessionSettings
    ) -> ConfiguredSession? {
        guard let name = SessionName(key) else {
            reader.problems.add(
                reader.path,
                at: reader.position,
                "session name must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            )
            return nil
        }
        var session = SessionReader(name: name, table: reader, surroundings: surroundings)
        // Use a separate list: errors of sessions read at the same time must not reject this one.
        session.table.problems = ProblemCollector()
        defer { reader.problems.add(session.table.problems) }
        return session.read()
    }
}

extension TableReader {
    /// Reads a command; an empty array means none.
    mutating func optionalCommand(_ key: String) -> [String] {
        if case .array(let elements)? = value(key)?.content, elements.isEmpty { return [] }
        return command(key) ?? []
    }

    /// Reads `scopes` or `audiences`, each a word of printable ASCII.
    ///
    /// A scope contains no quotes or backslashes (RFC 6749 §3.3).
    mutating func wordsToAskFor(_ key: String, _ name: String) -> [String] {
        let words = strings(key) ?? []
        let isFit = key == "scopes" ? \UInt8.isNQChar : \UInt8.isVisibleASCII
        for word in words where word.isEmpty || !word.utf8.allSatisfy({ $0[keyPath: isFit] }) {
            report(key, "\"\(word)\" is not a valid \(name): must be one word of printable ASCII")
        }
        return words
    }
}

extension Settings {
    /// Makes sessions require an ID token if a file or another session uses it.
    fileprivate mutating func requireIDTokensGivenOut() {
        let sources = sessions.filter(\.sources.usesIDToken).compactMap(\.sources.subject)
        let givers = Set(sources + files.filter(\.wantsIDToken).map(\.session))
        for index in sessions.indices
        where givers.contains(sessions[index].name) && sessions[index].server.word.isStandard {
            sessions[index].responses.requiresIDToken = true
        }
    }
}

extension SessionPolicy {
    /// Reads the timing keys, which `[agent]` sets for all sessions and a session for itself.
    init(reading table: inout TableReader, defaults: SessionPolicy) {
        self = defaults
        let upToOneDay = Duration.zero...Duration.seconds(86_400)
        if let lead = table.duration("refresh_before", in: upToOneDay, "at most 1d") { refreshBefore = lead }
        if let least = table.duration("min_validity", in: upToOneDay, "at most 1d") {
            minimumValidity = least
        }
        let wait = Duration.seconds(1)...Duration.seconds(3600)
        if let timeout = table.duration("get_timeout", in: wait, "1s to 1h") { getTimeout = timeout }
        if let pace = table.integer("refreshes_per_second", in: 1...1_000) { refreshesPerSecond = pace }
    }
}
