// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// How git, ssh and clients of the Model Context Protocol are set up.
enum NetworkSetup {
    static func git(_ wish: SetupWish) throws(AgentError) -> SetupPlan {
        let places = wish.places
        let files = [places.home + "/.gitconfig", places.configuration("git/config")]
        let file = wish.options.file ?? places.file("GIT_CONFIG_GLOBAL", places.present(files))
        let entries = try wish.entries()
        let blocks = wish.blocks("git", entries) { mark, entries in
            let headers = entries.map { "[credential \"https://\($0.host)\"]" }
            let lines = zip(headers, entries).flatMap { header, entry in
                // The empty helper takes away those for all servers: one that caches would give out stale tokens.
                [
                    header, "    helper =",
                    "    helper = !\(wish.program) git-credential --session \(entry.session)",
                ]
            }
            return TextBlock(
                file: file,
                mark: mark,
                place: .end,
                lines: lines,
                ours: ["helper =", "helper = !*/tokenctl git-credential --session *"],
                keys: ["helper"],
                sections: headers
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
        return SetupPlan(changes: blocks, checks: checks)
    }

    static func ssh(_ wish: SetupWish) throws(AgentError) -> SetupPlan {
        let host = wish.options.hosts.first
        var lines: [String] = []
        if !wish.isUndo {
            let name = try wish.required("--host", host, "the host, as ssh is called with")
            let local = try wish.restrictedSocket("of a [[socket]] here")
            let remote = try wish.requiredPath("--remote", wish.options.remote, "of the socket there")
            // What follows is for all hosts again.
            lines = ["Host \(name)", "    RemoteForward \(remote) \(local)", "Match all"]
        }
        let block = TextBlock(
            file: wish.options.file ?? wish.places.home + "/.ssh/config",
            mark: BlockMark("ssh", host),
            place: .top,
            lines: lines,
            ours: ["RemoteForward /* /*"],
            headers: ["Host *", "Match *"]
        )
        let check = SetupCheck(
            command: ["ssh", "-F", block.file, "-G", host ?? ""],
            answer: "remoteforward \(wish.options.remote ?? "")"
        )
        return SetupPlan(
            changes: [block],
            checks: [check],
            notes: [
                "the server needs StreamLocalBindUnlink yes to forward it a second time; tokenctl ssh does without",
                "root there has the tokens of the socket's sessions while you are connected",
            ]
        )
    }

    static func mcp(_ wish: SetupWish) throws(AgentError) -> SetupPlan {
        let file = wish.options.file ?? ".mcp.json"
        let words: [JSONValue] = ["mcp", "connect"]
        var value = JSONValue.null
        var name = wish.options.name
        let purpose = "the address of the server"
        let url =
            wish.isUndo
            ? try wish.optional("--url", wish.options.url, purpose)
            : try wish.required("--url", wish.options.url, purpose)
        if let url {
            guard let server = ServerAddress(url: url), server.isPrivate else {
                throw AgentError(.badRequest, "--url must be an https address")
            }
            name = name ?? server.place.host
            value = ["command": .string(wish.program), "args": .array(words + [.string(url)])]
        }
        let item = JSONItem(file, in: "mcpServers", name, value) { present in
            // Written by a tokenctl, perhaps one that was installed elsewhere then.
            let command = present.object?["command"]?.string?.split(separator: "/").last
            return command == "tokenctl" && present.object?["args"]?.array?.starts(with: words) == true
        }
        return SetupPlan(changes: [item], notes: ["log in once: tokenctl login \(wish.options.url ?? "URL")"])
    }
}
