// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The setup of git, ssh and clients of the Model Context Protocol.
enum GitSSHAndMCPSetup {
    static func git(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let places = request.places
        let files = [places.home + "/.gitconfig", places.configuration("git/config")]
        let file = request.options.file ?? places.file("GIT_CONFIG_GLOBAL", places.present(files))
        let entries = try request.entries()
        try checkRivals(entries)
        let blocks = request.blocks("git", entries) { mark, entries in
            let headers = entries.prefix(1).map { "[credential \"https://\($0.host)\"]" }
            let lines = zip(headers, entries).flatMap { header, entry in
                // The empty helper removes the helpers for all servers, because a caching one would serve
                // stale tokens.
                [
                    header, "    helper =",
                    "    helper = !\(request.program) git-credential --session \(entry.session)",
                ]
            }
            return TextBlock(
                file: file,
                mark: mark,
                place: .end,
                lines: lines,
                ours: ["helper =", "helper = !*/tokenctl git-credential --session *"],
                keys: ["helper"],
                isRivalSection: { GitSSHAndMCPSetup.isCredentials($0, of: entries.first?.host) }
            )
        }
        let checks = entries.map { entry in
            SetupCheck(
                command: [
                    "git", "config", "--global", "--get-urlmatch", "credential.helper",
                    "https://\(entry.host)",
                ],
                answer: "tokenctl git-credential --session \(entry.session)"
            )
        }
        let isForAll = !request.isUndo && request.options.hosts.isEmpty
        let patterns = isForAll ? try request.hasPatterns : false
        let remedy = Remedy.set("--host for each server")
        let note = "patterns in hosts, such as *.example.com, are not set up \(remedy.parenthesized)"
        return SetupPlan(changes: blocks, checks: checks, notes: patterns ? [note] : [])
    }

    /// Returns whether a section is for `host`, or for a user or a path there, in any spelling of its URL.
    ///
    /// The empty helper in our block, which follows such a section, would remove the section's helper for all
    /// of them.
    private static func isCredentials(_ section: SectionHeader, of host: String?) -> Bool {
        guard let subject = section.subject(of: "credential"), let host else { return false }
        // A URL without a scheme matches all schemes.
        let url = subject.bytewise.contains("://") ? subject : "https://\(subject)"
        guard let server = ServerAddress(url: url), let own = ServerAddress(url: "https://\(host)") else {
            return false
        }
        return server.origin.bytewise == own.origin.bytewise
    }

    /// Checks that there is one session for each server: git uses a second helper only if the first returns
    /// nothing.
    private static func checkRivals(_ entries: [SessionsOfHosts.HostAndSession]) throws(AgentError) {
        for (host, entries) in Dictionary(grouping: entries, by: \.host) {
            let rivals = Set(entries.map(\.session)).sorted()
            guard rivals.count > 1 else { continue }
            throw AgentError(
                .misconfigured,
                "hosts of \(rivals.joined(separator: " and ")) both match \(host)",
                remedy: .set("--session")
            )
        }
    }

    static func ssh(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let file = request.options.file ?? request.places.home + "/.ssh/config"
        var hosts: [String?] = Set(request.options.hosts).sorted()
        var forward = ""
        if request.isUndo {
            if hosts.isEmpty { hosts = [nil] }
        } else {
            let purpose = "the host, as in the command ssh HOST"
            if hosts.isEmpty { hosts = [try request.required("--host", nil, purpose)] }
            for host in hosts { _ = try request.required("--host", host, purpose) }
            let local = try request.restrictedSocket("of a [[socket]] here")
            let remote = try request.requiredPath(
                "--remote",
                request.options.remote,
                "of the socket on the other host"
            )
            forward = "\(remote) \(local)"
        }
        let blocks = hosts.map { host in
            TextBlock(
                file: file,
                mark: BlockIdentifier("ssh", host),
                place: .top,
                // Lines after the block must again be for all hosts.
                lines: ["Host \(host ?? "")", "    RemoteForward \(forward)", "Match all"],
                ours: ["RemoteForward /* /*"],
                headers: ["Host *", "Match *"],
                closing: "Match all",
                isRival: { GitSSHAndMCPSetup.isForward($0, below: $1, to: request.options.remote, for: host) }
            )
        }
        let checks = hosts.compactMap(\.self).map { host in
            SetupCheck(
                command: ["ssh", "-F", file, "-G", host],
                answer: "remoteforward \(request.options.remote ?? "")"
            )
        }
        return SetupPlan(
            changes: blocks,
            checks: checks,
            notes: [
                "a second connection needs StreamLocalBindUnlink yes in the host's sshd_config(5); "
                    + "tokenctl ssh needs nothing there",
                "root on the other host can get tokens of the socket's sessions while you are connected",
            ]
        )
    }

    /// Returns whether a line below `header` already forwards the socket `remote` for `host`; a second
    /// forwarding would fail.
    private static func isForward(
        _ line: String,
        below header: String?,
        to remote: String?,
        for host: String?
    ) -> Bool {
        guard let remote, let host else { return false }
        let words = words(line)
        guard words.count > 1, words[0].lowercased().bytewise == "remoteforward".bytewise,
            words[1].bytewise == remote.bytewise
        else { return false }
        guard let header, header.bytewise != "Match all".bytewise else { return true }
        return GitSSHAndMCPSetup.words(header).contains { [host, "*"].contains($0) }
    }

    /// Splits a line of ssh's configuration into words.
    private static func words(_ line: String) -> [String] {
        line.split { " \t\"".contains($0) }.map(String.init)
    }

    static func mcp(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let file = request.options.file ?? ".mcp.json"
        var words: [JSONValue] = ["mcp", "connect"]
        var value = JSONValue.null
        var name = request.options.name
        let purpose = "the URL of the server"
        let url =
            request.isUndo
            ? try request.optional("--url", request.options.url, purpose)
            : try request.required("--url", request.options.url, purpose)
        if let url {
            guard let address = ResourceAddress(url) else {
                throw AgentError(.badRequest, "--url must be an https URL")
            }
            // Undo finds the entry by the URL alone, whatever its name.
            if !request.isUndo {
                try ResourceSession.check(address)
                name = name ?? address.server.place.host
            }
            words.append(.string(url))
            let authorities = request.options.caFile.map { file in
                [JSONValue.string("--ca-file"), .string(AbsolutePath.orGiven(file))]
            }
            value = ["command": .string(request.program), "args": .array(words + (authorities ?? []))]
        }
        var item = JSONItem(file, in: "mcpServers", name, value, isStrict: true) { [words] present in
            // A `tokenctl` wrote the entry, perhaps one that was installed in another directory.
            let command = present.object?["command"]?.string?.split(separator: "/").last
            return command == "tokenctl" && present.object?["args"]?.array?.starts(with: words) == true
        }
        item.conflictRemedy = .set("--name to another name, or remove the entry")
        let login = Remedy.run("tokenctl login \(ShellWord.quoted(request.options.url ?? "URL"))")
        return SetupPlan(
            changes: [item],
            notes: ["log in first, unless the session is ready \(login.parenthesized)"]
        )
    }
}
