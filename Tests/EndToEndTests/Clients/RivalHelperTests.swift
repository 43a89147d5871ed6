// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// `tokenctl setup` if the user has already configured something for the same server.
    @Suite(.full) struct RivalHelperTests {
        private static let rivals = [
            ("git", ".gitconfig", "[Credential \"https://git.example.com\"]\n\thelper = store\n"),
            ("git", ".gitconfig", "[credential \"https://git.example.com/\"]\n\thelper = store\n"),
            ("git", ".gitconfig", "[credential \"https://GIT.example.com:443\"]\n\tHelper = store\n"),
            ("git", ".gitconfig", "[credential \"https://git.example.com\"] helper = store\n"),
            ("git", ".gitconfig", "[credential \"https://git.example.com/mine\"]\n\thelper = store\n"),
            ("git", ".gitconfig", "[credential \"https://me@git.example.com\"]\n\thelper = store\n"),
            ("git", ".gitconfig", "[credential \"git.example.com\"]\n\thelper = store\n"),
            ("bazel", ".bazelrc", "common\t\"--credential_helper=git.example.com=/x store\"\n"),
            ("bazel", ".bazelrc", "common --credential_helper=git.example.com=/x store\n"),
            ("bazel", ".bazelrc", "build -c opt --credential_helper=GIT.example.com=/x store\n"),
            ("bazel", ".bazelrc", "fetch --credential_helper git.example.com=/x store\n"),
        ]

        @Test(arguments: rivals)
        func `a person's helper for the same server is in the way, however it is written`(
            client: String,
            file: String,
            text: String
        ) async throws {
            let scene = try await Scene.loggedIn(session: "hosts = [\"git.example.com\"]")
            let path = try scene.agent.home.write(text, to: file)
            let result = try await scene.agent.tokenctl("setup", client)
            #expect(result.status == 2 && result.standardError.contains("store"), "\(result)")
            #expect(File.text(path) == text)
        }

        @Test(arguments: [
            ("git", ".gitconfig", "[credential \"https://git.example.com:8443\"]\n\thelper = store\n"),
            (
                "bazel", ".bazelrc",
                "common --credential_helper=/x\nbuild:ci --credential_helper=git.example.com=/x\n"
            ),
            ("bazel", ".bazelrc", "common --credential_helper=*.example.com=/x\n"),
            ("bazel", ".bazelrc", "common --x # --credential_helper=git.example.com=/x\n"),
        ])
        func `a helper for something else is not`(client: String, file: String, text: String) async throws {
            let scene = try await Scene.loggedIn(session: "hosts = [\"git.example.com\"]")
            let path = try scene.agent.home.write(text, to: file)
            #expect(try await scene.agent.tokenctl("setup", client).status == 0)
            #expect(try await scene.agent.tokenctl("setup", client, "--undo").status == 0)
            #expect(File.text(path) == text)
        }

        @Test func `what looks like a section in a text of several lines is none`() async throws {
            let scene = try await Scene.loggedIn()
            let text = "[net]\nnote = \"\"\"\n[registries.r]\n\"\"\"\n"
            try scene.agent.home.makeDirectory(".cargo")
            let path = try scene.agent.home.write(text, to: ".cargo/config.toml")
            let result = try await scene.agent.tokenctl("setup", "cargo", "--name", "r", "--session", "work")
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(File.text(path) == text)
        }

        @Test func `a file with what equals nothing can be changed`() async throws {
            let scene = try await Scene.loggedIn()
            try scene.agent.home.makeDirectory(".cargo")
            let path = try scene.agent.home.write("x = nan\n", to: ".cargo/config.toml")
            let words = ["setup", "cargo", "--name", "r", "--session", "work"]
            #expect(try await scene.agent.tokenctl(words).status == 0)
            #expect(try await scene.agent.tokenctl(words + ["--undo"]).status == 0)
            #expect(File.text(path) == "x = nan\n")
        }

        @Test(arguments: [
            "https://me:hidden@a.example/mcp", "https://a.example/hidden#x", "grpcs://hidden.example/",
        ])
        func `an address that nobody can log in for is not written down`(url: String) async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.shell("cd; tokenctl setup mcp --url '\(url)'; ls .mcp.json")
            #expect(
                result.standardError.contains("tokenctl: ") && !result.standardError.contains("hidden"),
                "\(result)"
            )
            #expect(!result.standardOutput.contains("mcp"), "\(result)")
        }

        @Test func `a complaint that holds the answer is no answer`() async throws {
            let scene = try await Scene.loggedIn()
            let pip = "#!/bin/sh\necho 'choose from import, subprocess' >&2\nexit 2\n"
            try scene.agent.home.makeDirectory("bin")
            try scene.agent.home.write(pip, to: "bin/pip", mode: 0o700)
            let result = try await scene.agent.shell("cd; PATH=\"$HOME/bin:$PATH\"; tokenctl setup pip")
            #expect(result.status == 1, "\(result)")
            #expect(result.standardError.contains("printed: choose from"), "\(result)")
        }

        @Test func `a helper that leads to another tokenctl is made anew`() async throws {
            let scene = try await Scene.loggedIn()
            let script = """
                cd; mkdir -p old .local/bin; printf '#!/bin/sh\n' >old/tokenctl; chmod 700 old/tokenctl
                ln -s "$HOME/old/tokenctl" .local/bin/keyring
                PATH="$HOME/.local/bin:$PATH"; tokenctl setup uv && readlink .local/bin/keyring
                """
            let result = try await scene.agent.shell(script)
            #expect(result.status == 0 && !result.standardOutput.hasSuffix("old/tokenctl\n"), "\(result)")
        }

        @Test(arguments: ["{\"credHelpers\": 5}", "{\"auths\": {}", "[]"])
        func `what docker cannot have written is a person's mistake`(text: String) async throws {
            let scene = try await Scene.loggedIn(session: "hosts = [\"reg.example.com\"]")
            try scene.agent.home.makeDirectory(".docker")
            let path = try scene.agent.home.write(text, to: ".docker/config.json")
            let result = try await scene.agent.tokenctl("setup", "docker")
            #expect(result.status == 2 && result.standardError.contains(".docker/config.json"), "\(result)")
            #expect(File.text(path) == text)
        }

        @Test func `what git says of its broken configuration is told`() async throws {
            let scene = try await Scene.loggedIn(session: "hosts = [\"git.example.com\"]")
            try scene.agent.home.write("[user\n", to: ".gitconfig")
            let result = try await scene.agent.tokenctl("setup", "git")
            #expect(result.status == 1 && result.standardError.contains("bad config line 1"), "\(result)")
            #expect(result.standardError.contains("nothing was changed"), "\(result)")
            #expect(File.text(scene.agent.home.path(".gitconfig")) == "[user\n")
        }
    }
}
