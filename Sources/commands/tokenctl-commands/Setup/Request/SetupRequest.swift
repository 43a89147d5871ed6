// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The requested setup of a client: options, paths and the agent.
struct SetupRequest {
    let places: ClientPaths
    /// The absolute path of `tokenctl`, as the user would find it.
    let program: String
    let endpoint: AgentEndpoint
    let options: SetupOptions
    /// Whether to undo a setup; options may then be missing, and the agent is used only to find the entries.
    let isUndo: Bool

    init(_ options: SetupOptions, _ endpoint: AgentEndpoint, isUndo: Bool) throws(AgentError) {
        self.options = options
        self.endpoint = endpoint
        self.isUndo = isUndo
        places = try ClientPaths()
        guard let installed = InstalledProgram.path("tokenctl") else {
            throw AgentError(.internal, "cannot find the installed tokenctl")
        }
        program = places.program("tokenctl") ?? installed
        // Other programs split the path at blanks, or pass it to a shell.
        guard program.utf8.allSatisfy({ $0.isUnreserved || "/+@".utf8.contains($0) }) else {
            throw AgentError(
                .misconfigured,
                "path contains characters that other programs misinterpret: \(program)"
            )
        }
    }

    var session: String? { options.session?.name }

    /// Returns the value of a required option, which must be one plain word.
    func required(
        _ option: String,
        _ value: String?,
        _ purpose: String,
        remedy: Remedy? = nil
    ) throws(AgentError) -> String {
        guard let value else {
            throw AgentError(.badRequest, "missing \(option): \(purpose)", remedy: remedy ?? .set(option))
        }
        guard SetupRequest.isPlain(value) else {
            let format = "one word of printable ASCII, without quotes or other special characters of shells"
            throw AgentError(.badRequest, "\(option) must be \(format)", remedy: remedy)
        }
        return value
    }

    /// Returns the value of a required option, which must be an absolute path.
    func requiredPath(_ option: String, _ value: String?, _ whose: String) throws(AgentError) -> String {
        let path = try required(option, value, "the path \(whose)")
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw AgentError(.badRequest, "\(option) must be an absolute path")
        }
        return path
    }

    /// Returns the value of `--local`: the path of a `[[socket]]`, which must not be an agent's own socket.
    ///
    /// The other end of an agent's own socket would have every session, and could log out, lock and stop the
    /// agent.
    func restrictedSocket(_ whose: String) throws(AgentError) -> String {
        let path = try requiredPath("--local", options.local, whose)
        var status = stat()
        let isThere = unsafe stat(path, &status) == 0
        guard isThere, status.st_mode & S_IFMT == S_IFSOCK else {
            throw AgentError(
                .badRequest,
                isThere ? "not a socket: \(path)" : "socket not found: \(path)",
                remedy: ConfigurationRemedy.change(.set("path in a [[socket]] to this path"))
            )
        }
        let there = AgentEndpoint(socket: path, mayStartAgent: false)
        // The agent reports its process ID only at its own user's socket.
        let about: AgentMessage? = try? there.message(AgentRequest(.get))
        guard about?.pid == nil, path.bytewise != (try endpoint.socketPath).bytewise else {
            throw AgentError(
                .badRequest,
                "refusing to share the agent's own socket, which gives access to everything: \(path)",
                remedy: .set("--local to the path of a [[socket]]")
            )
        }
        return path
    }

    /// Returns ``restrictedSocket(_:)`` if its directory can be mounted, with all files in it.
    func mountedSocket(_ whose: String) throws(AgentError) -> String {
        let path = try restrictedSocket(whose)
        guard !path.utf8.contains(UInt8(ascii: ",")) else {
            throw AgentError(
                .badRequest,
                "path contains a comma, which a mount option cannot express: \(path)"
            )
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
                "cannot mount \(directory): it includes \(what)",
                remedy: ConfigurationRemedy.change(.set("path in the [[socket]] to a separate directory"))
            )
        }
        guard let other = try SetupRequest.neighbor(of: path) else { return path }
        throw AgentError(
            .badRequest,
            "cannot mount \(directory): it also contains the socket \(other)",
            remedy: ConfigurationRemedy.change(.set("path in the [[socket]] to a separate directory"))
        )
    }

    /// Returns the name of another socket in the directory of the socket at `path`, or `nil` if there is
    /// none.
    private static func neighbor(of path: String) throws(AgentError) -> String? {
        let directory = EditedFile.directory(of: path)
        let refusal = { AgentError(.badRequest, "cannot read \(directory): \(systemMessage($0))") }
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

    /// Resolves links in `path`, or returns `nil` if it does not exist.
    private static func resolved(_ path: String) -> String? {
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Returns the value of an optional option, which must be one plain word.
    func optional(_ option: String, _ value: String?, _ purpose: String) throws(AgentError) -> String? {
        guard let value else { return nil }
        return try required(option, value, purpose)
    }

    /// The session; it may be missing if the whole setup of this client is undone.
    var sessionToName: String? {
        get throws(AgentError) {
            if isUndo { return session }
            return try requiredSession
        }
    }

    var requiredSession: String {
        get throws(AgentError) {
            let remedy = Remedy.set("--session to a name that tokenctl list prints")
            return try required("--session", session, "the session for the program", remedy: remedy)
        }
    }

    /// Returns the session, which must exist unless the setup is undone.
    ///
    /// If the agent does not respond, the session counts as existing.
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

    /// Creates the text blocks for the configuration of a program such as git, one for each server.
    ///
    /// Each block can be added and removed separately. To undo, one block represents those of all servers.
    ///
    /// - Parameters:
    ///   - client: The program.
    ///   - entries: The servers and their sessions.
    ///   - name: Returns the client's name for a server.
    ///   - block: Creates the block for a mark and its servers.
    /// - Returns: The blocks in the order of the servers' names.
    func blocks(
        _ client: String,
        _ entries: [SessionsOfHosts.HostAndSession],
        namedBy name: (_ host: String) -> String = { $0 },
        _ block: (BlockIdentifier, [SessionsOfHosts.HostAndSession]) -> TextBlock
    ) -> [TextBlock] {
        guard !isUndo else {
            let sessions = [session].compactMap(\.self)
            let names: [String?] = options.hosts.isEmpty ? [nil] : Set(options.hosts.map(name)).sorted()
            return names.map { block(BlockIdentifier(client, $0, sessions: sessions), []) }
        }
        let groups = Dictionary(grouping: entries) { name($0.host) }.sorted { $0.key < $1.key }
        return groups.map { name, entries in
            block(BlockIdentifier(client, name, sessions: Set(entries.map(\.session)).sorted()), entries)
        }
    }

    /// Returns the servers to set up and their sessions: those of `--host`, else those in the `hosts` of
    /// sessions.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if there is none.
    func entries() throws(AgentError) -> [SessionsOfHosts.HostAndSession] {
        guard !isUndo else { return [] }
        try checkHosts()
        if session != nil { _ = try knownSession() }
        let sessions = try endpoint.sessions()
            // Some programs pass the name to a shell, and the agent at the socket may be another user's.
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
                "hosts contains only patterns",
                session: session,
                remedy: .set("--host for each server")
            )
        }
        let servers = options.hosts.isEmpty ? "any server" : options.hosts.joined(separator: ", ")
        throw AgentError(
            .misconfigured,
            session == nil ? "no session lists \(servers) in hosts" : "hosts does not list \(servers)",
            session: session,
            remedy: ConfigurationRemedy.change(.set("hosts in [session.\(session ?? "NAME")]"))
        )
    }

    /// Checks that the agent selects the session of each entry, because some helpers pass only the server.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if the agent would select another session, or
    ///   none.
    func checkChoice(_ entries: [SessionsOfHosts.HostAndSession]) throws(AgentError) {
        guard !entries.isEmpty else { return }
        let sessions = try endpoint.sessions()
        for entry in entries {
            guard let place = ServerAddress(entry.host)?.place,
                let choice = try SessionChoice(for: place, among: sessions), choice.session != entry.session
            else { continue }
            throw AgentError(
                .misconfigured,
                "cannot be selected for \(entry.host): session \"\(choice.session)\" matches it more closely",
                session: entry.session,
                remedy: ConfigurationRemedy.change(
                    .set("hosts in [session.\(choice.session)] without \(entry.host)")
                )
            )
        }
    }

    /// Whether ``entries()`` omits servers that are named only by a pattern.
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

    /// Checks that each `--host` is a server: it is written into URLs of other programs, where a URL would be
    /// wrong.
    private func checkHosts() throws(AgentError) {
        for host in options.hosts {
            guard !host.utf8.contains(where: "/@".utf8.contains), ServerAddress(host) != nil else {
                let words = "--host must be a server such as git.example.com or git.example.com:8443"
                throw AgentError(.badRequest, "\(words), not \"\(TerminalText.escaped(host))\"")
            }
        }
    }

    /// Returns the servers in `present` to remove: those of `--host`, else all, limited to those of the given
    /// session.
    ///
    /// The entries of some clients contain no session, so this function requests the session of each server
    /// from the agent.
    ///
    /// - Throws: ``AgentError`` if the agent does not know the given session, or does not respond.
    func hostsToTakeBack(of present: [String]) throws(AgentError) -> [String] {
        let named = options.hosts.isEmpty ? present : present.filter(options.hosts.contains)
        guard let session else { return named }
        let sessions = try endpoint.sessions()
        guard sessions.contains(where: { $0.session == session }) else {
            throw AgentError(
                .notFound,
                "no session named \"\(session)\", so its servers are unknown",
                session: session,
                remedy: .set("--host for each server")
            )
        }
        return named.filter { host in
            let place = ServerAddress(host)?.place
            return place.flatMap { try? SessionChoice(for: $0, among: sessions) }?.session == session
        }
    }

    /// Returns the link by which another program finds its helper in `PATH`, or none if it already does.
    ///
    /// - Parameters:
    ///   - name: The name of the helper.
    ///   - other: The configuration of another program that may need the same link.
    /// - Returns: At most one link.
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

    /// Returns the notes for the user about such a link.
    func note(on links: [any SetupChange]) -> [String] {
        let directory = places.programDirectory
        return links.isEmpty || places.path.contains(directory) ? [] : ["add \(directory) to PATH"]
    }

    /// Returns whether `text` can be used unquoted in every configuration that it is written into.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.isVisibleWord && text.utf8.allSatisfy { !"\"'\\`$#;[]{}<>|&*!".utf8.contains($0) }
    }
}

/// All changes for a client, and the checks that they work.
struct SetupPlan {
    /// The changes in the order in which they are made; undo is in the reverse order.
    var changes: [any SetupChange]
    /// The checks with the client itself, if it is installed.
    var checks: [SetupCheck] = []
    /// The notes for the user about the remaining steps.
    var notes: [String] = []
}

/// A command of a client, and the text in its output if the client has read its configuration.
struct SetupCheck {
    var command: [String]
    var answer: String
}
