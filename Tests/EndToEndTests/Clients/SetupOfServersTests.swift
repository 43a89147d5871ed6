// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// `tokenctl setup` for several servers in turn, and in addition to the user's own configuration.
    @Suite(.full) struct SetupOfServersTests {
        private static let hosts = ["git.example.com", "*.corp.example.com"]

        private func scene(hosts: [String] = hosts) async throws -> Scene {
            let names = hosts.map { "\"\($0)\"" }.joined(separator: ", ")
            let scene = try await Scene.loggedIn(session: "hosts = [\(names)]")
            try scene.agent.home.makeDirectory(".local")
            try scene.agent.home.makeDirectory(".local/bin")
            return scene
        }

        private func run(_ script: String, in scene: Scene) async throws -> ProgramResult {
            try await scene.agent.shell("cd; PATH=\"$HOME/.local/bin:$PATH\"; \(script)")
        }

        private static let files = [
            ("git", ".gitconfig", "[user]\n\tname = Ann\n"), ("bazel", ".bazelrc", "build -c opt\n"),
            ("docker", ".docker/config.json", "{\"auths\": {}}"),
        ]

        @Test(arguments: files)
        func `a server that is added leaves the others, and goes alone`(
            client: String,
            file: String,
            text: String
        ) async throws {
            let scene = try await scene()
            if client == "docker" { try scene.agent.home.makeDirectory(".docker") }
            let path = try scene.agent.home.write(text, to: file)
            let (one, other) = ("git.example.com", "reg.corp.example.com")
            for host in [one, other] {
                let made = try await run("tokenctl setup \(client) --host \(host)", in: scene)
                let hint = "--undo --host '\(host)'"
                #expect(made.status == 0 && made.standardOutput.contains(hint), "\(made)")
            }
            let both = try #require(File.text(path))
            #expect(both.contains(one) && both.contains(other), "\(both)")
            #expect(try await run("tokenctl setup \(client) --undo --host \(one)", in: scene).status == 0)
            let left = try #require(File.text(path))
            #expect(!left.contains(one) && left.contains(other), "\(left)")
            if client != "git" {
                #expect(try await run("ls .local/bin | grep -c credential-tokenagent", in: scene).line == "1")
            }
            #expect(try await run("tokenctl setup \(client) --undo --host \(other)", in: scene).status == 0)
            #expect(File.text(path) == text)
            #expect(try await run("ls .local/bin", in: scene).standardOutput.isEmpty)
            // Those for one server do not keep those for all from being made, nor from going.
            for options in ["--host \(other)", ""] {
                #expect(try await run("tokenctl setup \(client) \(options)", in: scene).status == 0)
            }
            #expect(try await run("tokenctl setup \(client) --undo", in: scene).status == 0)
            #expect(File.text(path) == text)
        }

        @Test(arguments: files)
        func `a server of those that were set up together goes alone`(
            client: String,
            file: String,
            text: String
        ) async throws {
            let (one, other) = ("git.example.com", "reg.example.com")
            let scene = try await scene(hosts: [one, other])
            if client == "docker" { try scene.agent.home.makeDirectory(".docker") }
            let path = try scene.agent.home.write(text, to: file)
            #expect(try await run("tokenctl setup \(client)", in: scene).status == 0)
            let both = try #require(File.text(path))
            let again = try await run("tokenctl setup \(client) --host \(one)", in: scene)
            #expect(again.standardOutput.contains("\(client) is already set up"), "\(again)")
            #expect(File.text(path) == both)
            let undone = try await run("tokenctl setup \(client) --undo --host \(one)", in: scene)
            #expect(undone.status == 0 && undone.standardOutput.contains("Undone: "), "\(undone)")
            let left = try #require(File.text(path))
            #expect(!left.contains(one) && left.contains(other), "\(left)")
            let others = try await run("tokenctl setup \(client) --undo --session nobody", in: scene)
            #expect(File.text(path) == left, "\(others)")
            #expect(try await run("tokenctl setup \(client) --undo", in: scene).status == 0)
            #expect(File.text(path) == text)
            #expect(try await run("ls .local/bin", in: scene).standardOutput.isEmpty)
        }

        @Test func `what git itself writes beside its helper stays`() async throws {
            let scene = try await scene()
            let text = "[user]\n\tname = Ann\n"
            let path = try scene.agent.home.write(text, to: ".gitconfig")
            #expect(try await run("tokenctl setup git", in: scene).status == 0)
            let key = "credential.https://git.example.com.username"
            #expect(try await run("git config --global \(key) bob", in: scene).status == 0)
            let written = File.text(path)
            let again = try await run("tokenctl setup git", in: scene)
            #expect(again.standardOutput.contains("git is already set up"), "\(again)")
            #expect(File.text(path) == written)
            #expect(try await run("tokenctl setup git --undo", in: scene).status == 0)
            #expect(try await run("git config --global \(key)", in: scene).line == "bob")
            let section = "[credential \"https://git.example.com\"]\n\tusername = bob\n"
            #expect(File.text(path) == text + section)
        }

        @Test func `a person's own helper for a server is in the way`() async throws {
            let scene = try await scene()
            let text = "[credential \"https://git.example.com\"] # mine\n  username = me\n  helper = store\n"
            let path = try scene.agent.home.write(text, to: ".gitconfig")
            let result = try await run("tokenctl setup git", in: scene)
            #expect(result.status == 2 && result.standardError.contains("helper = store"), "\(result)")
            #expect(File.text(path) == text)
            let name = text.replacing("  helper = store\n", with: "")
            try scene.agent.home.write(name, to: ".gitconfig")
            #expect(try await run("tokenctl setup git", in: scene).status == 0)
            #expect(try await run("tokenctl setup git --undo", in: scene).status == 0)
            #expect(File.text(path) == name)
        }

        @Test func `lines that an editor has ended otherwise are ours all the same`() async throws {
            let scene = try await scene()
            let path = try scene.agent.home.write("[user]\r\n\tname = Ann\r\n", to: ".gitconfig")
            #expect(try await run("tokenctl setup git", in: scene).status == 0)
            let made = try #require(File.text(path))
            let ended = made.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n")
            try scene.agent.home.write(ended, to: ".gitconfig")
            let again = try await run("tokenctl setup git", in: scene)
            #expect(again.standardOutput.contains("git is already set up"), "\(again)")
            #expect(try await run("tokenctl setup git --undo", in: scene).status == 0)
            #expect(File.text(path) == "[user]\r\n\tname = Ann\r\n")
        }

        @Test func `a pattern alone is no server, and one that it covers is`() async throws {
            let scene = try await Scene.loggedIn(session: "hosts = [\"*.corp.example.com\"]")
            let none = try await scene.agent.tokenctl("setup", "git")
            #expect(
                none.status == 2 && none.standardError.contains("--host for each server"),
                "\(none)"
            )
            let other = try await scene.agent.tokenctl("setup", "git", "--host", "git.example.com")
            #expect(
                other.status == 2
                    && other.standardError.contains("no session lists git.example.com in hosts"),
                "\(other)"
            )
            #expect(
                try await scene.agent.tokenctl("setup", "git", "--host", "a.corp.example.com").status == 0
            )
        }

        @Test func `a server of the Model Context Protocol that a person wrote stays`() async throws {
            let scene = try await scene()
            let own =
                #"{"mcpServers": {"hand": {"command": "/opt/bridge", "args": ["mcp", "connect", "https://h.example"]}}}"#
            let path = try scene.agent.home.write(own, to: ".mcp.json")
            for url in ["https://a.example.com/mcp", "https://b.example.com/mcp"] {
                let made = try await run("tokenctl setup mcp --url \(url)", in: scene)
                #expect(made.standardOutput.contains("setup mcp --undo --url '\(url)'"), "\(made)")
            }
            #expect(
                try await run("tokenctl setup mcp --undo --url https://a.example.com/mcp", in: scene).status
                    == 0
            )
            let left = try #require(File.text(path))
            #expect(!left.contains("a.example.com") && left.contains("b.example.com"), "\(left)")
            #expect(try await run("tokenctl setup mcp --undo", in: scene).status == 0)
            #expect(File.text(path) == own)
        }

        @Test func `the agent's own socket is given to nobody`() async throws {
            let scene = try await scene()
            try scene.agent.home.write("{}", to: ".devcontainer.json")
            let socket = scene.agent.socketPath
            try File.link(scene.agent.home.path("link.sock"), to: socket)
            for path in [socket, scene.agent.home.path("link.sock")] {
                for command in ["ssh --host far --remote /run/y.sock", "devcontainer"] {
                    let result = try await run("tokenctl setup \(command) --local \(path)", in: scene)
                    #expect(result.status == 2 && result.standardError.contains("own socket"), "\(result)")
                }
            }
            let file = try scene.agent.home.write("text", to: "plain")
            let result = try await run("tokenctl setup devcontainer --local \(file)", in: scene)
            #expect(result.status == 2 && result.standardError.contains("not a socket: "), "\(result)")
            // All of a directory is mounted.
            for name in ["x.sock", "run/x.sock"] { try File.makeSocket(scene.agent.home.path(name)) }
            for path in ["$HOME/x.sock", "$HOME/run/x.sock"] {
                let wide = try await run("tokenctl setup devcontainer --local \(path)", in: scene)
                #expect(wide.status == 2 && wide.standardError.contains("cannot mount "), "\(wide)")
            }
            let missing = try await run("tokenctl setup devcontainer --local /nope/x.sock", in: scene)
            #expect(missing.standardError.contains("socket not found: /nope/x.sock"), "\(missing)")
            #expect(File.text(scene.agent.home.path(".devcontainer.json")) == "{}")
        }

        @Test func `a name that nobody knows is refused`() async throws {
            let scene = try await scene()
            let result = try await run("tokenctl setup cargo --session nosuch --name inner", in: scene)
            #expect(result.status == 7, "\(result)")
            let google = try await run(
                "tokenctl setup gcloud --session work --audience foo --print",
                in: scene
            )
            #expect(google.status == 2 && google.standardError.contains("//iam.googleapis.com/"), "\(google)")
        }
    }
}
