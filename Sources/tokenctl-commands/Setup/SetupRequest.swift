// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// What a client is to be set up with, as the command line says it.
struct SetupRequest {
    let places: ClientPlaces
    /// The absolute path of `tokenctl`, as a person would find it.
    let program: String
    let endpoint: AgentEndpoint
    let options: SetupOptions
    /// To take back what was made: then options may be missing, and the agent too where it is not needed to tell what.
    let isUndo: Bool

    init(_ options: SetupOptions, _ endpoint: AgentEndpoint, isUndo: Bool) throws(AgentError) {
        self.options = options
        self.endpoint = endpoint
        self.isUndo = isUndo
        places = try ClientPlaces()
        guard let installed = InstalledProgram.path("tokenctl") else {
            throw AgentError(.internal, "tokenctl is not where it was installed")
        }
        program = places.program("tokenctl") ?? installed
        // Other programs split it at blanks, or give it to a shell.
        guard program.utf8.allSatisfy({ $0.isUnreserved || "/+@".utf8.contains($0) }) else {
            throw AgentError(.misconfigured, "\(program) has characters that other programs misread")
        }
    }

    var session: String? { options.session?.name }

    /// An option that this client needs.
    func required(_ option: String, _ value: String?, _ purpose: String) throws(AgentError) -> String {
        guard let value, SetupRequest.isPlain(value) else {
            let reason =
                value == nil
                ? "needs"
                : "takes one word of printable ASCII, without quotes or characters that shells read, as"
            throw AgentError(.badRequest, "this client \(reason) \(option): \(purpose)")
        }
        return value
    }

    /// An option that this client needs, the path of what `whose` names.
    func requiredPath(_ option: String, _ value: String?, _ whose: String) throws(AgentError) -> String {
        let path = try required(option, value, "the path \(whose)")
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw AgentError(.badRequest, "\(option) must be an absolute path")
        }
        return path
    }

    /// `--local`: the path of a `[[socket]]`, and not that of an agent's own socket.
    ///
    /// Whoever is at the other end would have every session, and could log out, lock and stop the agent.
    func restrictedSocket(_ whose: String) throws(AgentError) -> String {
        let path = try requiredPath("--local", options.local, whose)
        var status = stat()
        let isThere = unsafe stat(path, &status) == 0
        guard isThere, status.st_mode & S_IFMT == S_IFSOCK else {
            throw AgentError(
                .badRequest,
                isThere ? "\(path) is no socket" : "there is no socket \(path)",
                remedy: ConfigurationRemedy.change(
                    "make a [[socket]] with this path, see tokenagent.conf(5)"
                )
            )
        }
        let there = AgentEndpoint(socket: path, mayStartAgent: false)
        // Only its own user's socket tells the agent's process.
        let about: AgentMessage? = try? there.message(AgentRequest(.get))
        guard about?.pid == nil, path.bytewise != (try endpoint.socketPath).bytewise else {
            throw AgentError(
                .badRequest,
                "\(path) is the agent's own socket, which gives everything away",
                remedy: ConfigurationRemedy.change("make a [[socket]] for it, see tokenagent.conf(5)")
            )
        }
        return path
    }

    /// ``restrictedSocket(_:)``, whose directory can be mounted: with it goes all that is in there.
    func mountedSocket(_ whose: String) throws(AgentError) -> String {
        let path = try restrictedSocket(whose)
        guard !path.utf8.contains(UInt8(ascii: ",")) else {
            throw AgentError(.badRequest, "\(path) holds a comma, which ends a word in the words of a mount")
        }
        let directory = EditedFile.directory(of: path)
        let own = EditedFile.directory(of: try endpoint.socketPath)
        for (inside, what) in [(own, "the agent's own socket"), (places.home, "the home directory")] {
            guard let outer = SetupRequest.resolved(directory), let inner = SetupRequest.resolved(inside)
            else {
                continue
            }
            guard "\(inner)/".bytewise.hasPrefix("\(outer)/".bytewise) else { continue }
            throw AgentError(
                .badRequest,
                "\(what) is in \(directory), all of which would be mounted",
                remedy: ConfigurationRemedy.change("give the [[socket]] a directory of its own")
            )
        }
        guard let other = try SetupRequest.neighbor(of: path) else { return path }
        throw AgentError(
            .badRequest,
            "the socket \(other) is in \(directory) too, all of which would be mounted",
            remedy: ConfigurationRemedy.change("give the [[socket]] a directory of its own")
        )
    }

    /// Another socket in the directory of the socket at `path`; `nil`: there is none.
    private static func neighbor(of path: String) throws(AgentError) -> String? {
        let directory = EditedFile.directory(of: path)
        let refusal = { AgentError(.badRequest, "\(directory) cannot be read: \(systemMessage($0))") }
        var own = stat()
        guard unsafe stat(path, &own) == 0, let stream = unsafe opendir(directory) else {
            throw refusal(errno)
        }
        defer { unsafe closedir(stream) }
        errno = 0
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            let isThere = unsafe fstatat(dirfd(stream), name, &status, AT_SYMLINK_NOFOLLOW) == 0
            if isThere, status.st_mode & S_IFMT == S_IFSOCK, status.st_ino != own.st_ino { return name }
            errno = 0
        }
        guard errno == 0 else { throw refusal(errno) }
        return nil
    }

    /// `path` without links; `nil`: nothing is there.
    private static func resolved(_ path: String) -> String? {
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// An option that this client can do without.
    func optional(_ option: String, _ value: String?, _ purpose: String) throws(AgentError) -> String? {
        guard let value else { return nil }
        return try required(option, value, purpose)
    }

    /// The session, which may be missing where everything of this client is taken back.
    var sessionToName: String? {
        get throws(AgentError) {
            if isUndo { return session }
            return try requiredSession
        }
    }

    var requiredSession: String {
        get throws(AgentError) { try required("--session", session, "whose token it is") }
    }

    /// The session, which the agent is asked for unless all is taken back: one that does not answer says nothing of it.
    func knownSession() throws(AgentError) -> String {
        let name = try requiredSession
        guard !isUndo else { return name }
        do throws(AgentError) {
            try endpoint.send(AgentRequest(.get, "sessions", name))
        } catch {
            if error.code == .notFound { throw error.about(name) }
        }
        return name
    }

    /// Blocks of `client`, one for each server of `entries`, so that each can be added and taken back alone.
    ///
    /// `name` is what the client calls a server. To take back, one block stands for those of all servers.
    func blocks(
        _ client: String,
        _ entries: [SessionsOfHosts.Entry],
        namedBy name: (_ host: String) -> String = { $0 },
        _ block: (BlockMark, [SessionsOfHosts.Entry]) -> TextBlock
    ) -> [TextBlock] {
        guard !isUndo else {
            let sessions = [session].compactMap(\.self)
            let names: [String?] = options.hosts.isEmpty ? [nil] : Set(options.hosts.map(name)).sorted()
            return names.map { block(BlockMark(client, $0, sessions: sessions), []) }
        }
        let groups = Dictionary(grouping: entries) { name($0.host) }.sorted { $0.key < $1.key }
        return groups.map { name, entries in
            block(BlockMark(client, name, sessions: Set(entries.map(\.session)).sorted()), entries)
        }
    }

    /// The servers to answer for and the session for each: those named here, else those that sessions name in `hosts`.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if there is none.
    func entries() throws(AgentError) -> [SessionsOfHosts.Entry] {
        guard !isUndo else { return [] }
        try checkHosts()
        if session != nil { _ = try knownSession() }
        let sessions = try endpoint.sessions()
            // Some programs give the name to a shell; the agent at the socket may be somebody else's.
            .filter { $0.session?.utf8.allSatisfy(\.isUnreserved) == true }
            .filter { session == nil || $0.session == session }
        var known = SessionsOfHosts(sessions).entries
        if !options.hosts.isEmpty {
            known = known.filter { options.hosts.contains($0.host) }
            for host in options.hosts where !known.contains(where: { $0.host == host }) {
                guard let place = ServerAddress(host)?.place,
                    let choice = try SessionChoice(for: place, among: sessions)
                else { continue }
                known.append(.init(session: choice.session, host: host, user: choice.user))
            }
        }
        guard known.isEmpty else { return known }
        let hasPatterns = sessions.contains(where: SetupRequest.hasPattern)
        if hasPatterns, options.hosts.isEmpty {
            throw AgentError(
                .misconfigured,
                "the sessions name servers by patterns alone",
                session: session,
                remedy: "name each server with --host"
            )
        }
        let servers = options.hosts.isEmpty ? "a server" : options.hosts.joined(separator: ", ")
        let named = options.hosts.first ?? "the servers that its tokens are for"
        throw AgentError(
            .misconfigured,
            session == nil ? "no session names \(servers) in hosts" : "it does not name \(servers) in hosts",
            session: session,
            remedy: ConfigurationRemedy.change("add \(named) to hosts in [session.\(session ?? "NAME")]")
        )
    }

    /// Checks that the agent chooses the session of each entry: some helpers are told the server alone.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if it would choose another one, or could not choose.
    func checkChoice(_ entries: [SessionsOfHosts.Entry]) throws(AgentError) {
        guard !entries.isEmpty else { return }
        let sessions = try endpoint.sessions()
        for entry in entries {
            guard let place = ServerAddress(entry.host)?.place,
                let choice = try SessionChoice(for: place, among: sessions), choice.session != entry.session
            else { continue }
            throw AgentError(
                .misconfigured,
                "\(choice.session) is the session for \(entry.host), and this program cannot name another one",
                session: entry.session,
                remedy: ConfigurationRemedy.change("take it out of hosts in [session.\(choice.session)]")
            )
        }
    }

    /// Whether ``entries()`` leave servers out that are named by a pattern alone.
    var hasPatterns: Bool {
        get throws(AgentError) {
            try endpoint.sessions().contains { known in
                (session == nil || known.session == session) && SetupRequest.hasPattern(known)
            }
        }
    }

    private static func hasPattern(_ known: SessionMessage) -> Bool {
        SessionChoice.rules(known).contains(where: \.coversSubdomains)
    }

    /// A server is written into other programs' addresses: one that is an address itself would be no server there.
    private func checkHosts() throws(AgentError) {
        for host in options.hosts {
            guard !host.utf8.contains(where: "/@".utf8.contains), ServerAddress(host) != nil else {
                let words = "--host takes a server, such as git.example.com or git.example.com:8443, not"
                throw AgentError(.badRequest, "\(words) \(TerminalText.escaped(host))")
            }
        }
    }

    /// Which of the servers in `present` are to be taken back: those named here, and those whose session is the one named.
    ///
    /// The entry of a client that asks the agent for the server's session names none, so the agent is asked whose it is.
    ///
    /// - Throws: ``AgentError`` if a session is named that the agent does not know, or no agent answers.
    func hostsToTakeBack(of present: [String]) throws(AgentError) -> [String] {
        let named = options.hosts.isEmpty ? present : present.filter(options.hosts.contains)
        guard let session else { return named }
        let sessions = try endpoint.sessions()
        guard sessions.contains(where: { $0.session == session }) else {
            throw AgentError(
                .notFound,
                "the agent does not know which servers are its own",
                session: session,
                remedy: "name the servers with --host"
            )
        }
        return named.filter { host in
            let place = ServerAddress(host)?.place
            return place.flatMap { try? SessionChoice(for: $0, among: sessions) }?.session == session
        }
    }

    /// Links by which another program finds its helper in `PATH`; none if it does already.
    ///
    /// - Parameters:
    ///   - name: of the helper.
    ///   - other: the configuration of another program that may need the same link.
    /// - Returns: at most one.
    /// - Throws: ``AgentError`` if another helper would be found first.
    func link(inPathAs name: String, sharedBy other: String? = nil) throws(AgentError) -> [any SetupChange] {
        if isUndo {
            let isShared = try other.map { path throws(AgentError) in
                try EditedFile(path).text?.bytewise.contains(BlockSearch.first.bytewise) == true
            }
            return isShared == true ? [] : [HelperLink(at: "\(places.programDirectory)/\(name)", to: program)]
        }
        guard let link = try HelperLink(inPathAs: name, to: program, places) else { return [] }
        return [link]
    }

    /// What a person has to know about such a link.
    func note(on links: [any SetupChange]) -> [String] {
        let directory = places.programDirectory
        return links.isEmpty || places.path.contains(directory) ? [] : ["put \(directory) into PATH"]
    }

    /// Whether the text stands for itself in every configuration that it is written into.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.isVisibleWord && text.utf8.allSatisfy { !"\"'\\`$#;[]{}<>|&*!".utf8.contains($0) }
    }
}

/// Everything that is changed for a client, and how it is seen that it works.
struct SetupPlan {
    /// In this order; taken back in the reverse one.
    var changes: [any SetupChange]
    /// What the client says about it afterwards, if it is installed.
    var checks: [SetupCheck] = []
    /// What is left to a person.
    var notes: [String] = []
}

/// A question to a client, and what its answer holds if it has understood its configuration.
struct SetupCheck {
    var command: [String]
    var answer: String
}
