// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Requests that `tokenctl setup` rejects without changing a file.
    @Suite struct RefusedSetupTests {
        /// A home that has a directory for programs.
        private static func scene(_ more: String = "") async throws -> Scene {
            let scene = try await Scene.loggedIn(
                session: "hosts = [\"git.example.com\", \"registry.example.com:5000\"]",
                more: more
            )
            try scene.agent.home.makeDirectory(".local")
            try scene.agent.home.makeDirectory(".local/bin")
            return scene
        }

        /// Runs `script` with the user's own programs in `PATH`.
        private func run(_ script: String, in scene: Scene) async throws -> ProgramResult {
            try await scene.agent.shell("cd; PATH=\"$HOME/.local/bin:$PATH\"; \(script)")
        }

        /// Every file outside of the agent's directories, with its content.
        private func files(_ scene: Scene) async throws -> String {
            let script = """
                find . -path ./run -prune -o -path ./state -prune -o -path ./config/tokenagent -prune -o -type d -print -o \
                -type l -print -o -type f -print -exec cat {} \\; | sort
                """
            return try await run(script, in: scene).standardOutput
        }

        /// A go that says its version and reads its file.
        private static let go = #"""
            #!/bin/sh
            case "$1" in
                version) echo "go version VERSION linux/amd64" ;;
                env) sed -n 's/^GOAUTH=//p' "$XDG_CONFIG_HOME/go/env" ;;
            esac

            """#

        @Test(
            .holds("243"),
            arguments: [
                ("go1.19.8", "go1.19.8 does not support GOAUTH, which requires go1.24"),
                ("go1.23", "does not support"),
                ("go1.24", nil), ("go1.30rc1", nil), ("devel go2-abc", nil),
            ]
        )
        func `a go that reads no GOAUTH is named, and nothing is changed`(
            version: String,
            refusal: String?
        ) async throws {
            let scene = try await Self.scene()
            let go = Self.go.replacing("VERSION", with: version)
            try scene.agent.home.write(go, to: ".local/bin/go", mode: 0o755)
            let before = try await files(scene)
            let result = try await run("tokenctl setup go", in: scene)
            guard let refusal else {
                #expect(result.standardOutput.contains("Checked with: go env GOAUTH"), "\(result)")
                return
            }
            #expect(result.status == 2 && result.standardError.contains(refusal), "\(result)")
            #expect(try await files(scene) == before)
        }

        @Test(.holds("243")) func `a change that the program does not see is taken back`() async throws {
            let scene = try await Self.scene()
            try scene.agent.home.write("#!/bin/sh\necho disabled\n", to: ".local/bin/pip", mode: 0o755)
            let before = try await files(scene)
            let result = try await run("tokenctl setup pip", in: scene)
            #expect(
                result.status == 1 && result.standardError.contains("pip does not see the setting"),
                "\(result)"
            )
            #expect(try await files(scene) == before)
        }

        @Test func `a program without a setup is named, with those that have one`() async throws {
            let scene = try await Self.scene()
            let npm = try await run("tokenctl setup npm", in: scene)
            #expect(npm.status == 2 && npm.complainsInOneLine, "\(npm)")
            #expect(npm.standardError.contains("no setup for \"npm\", only for git, docker, "), "\(npm)")
            let near = try await run("tokenctl setup kubctl", in: scene)
            #expect(near.standardError.hasSuffix("\n  Run: tokenctl setup kubectl\n"), "\(near)")
        }

        /// docker tells its helper the server and nothing else.
        @Test(.holds("243")) func `a session that docker's helper would not choose is not set up for it`()
            async throws
        {
            let other = """
                [session.other]
                kind = "oauth2"
                token_endpoint = "http://127.0.0.1:9/token"
                client_id = "x"
                flow = "password"
                hosts = ["registry.example.com:5000"]
                """
            let scene = try await Self.scene(other)
            let before = try await files(scene)
            for client in ["docker", "bazel"] {
                let result = try await run("tokenctl setup \(client) --session work", in: scene)
                #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
                #expect(result.standardError.contains("both match registry.example.com"), "\(result)")
                #expect(
                    result.standardError.hasSuffix("one session matches, then run tokenctl reload\n"),
                    "\(result)"
                )
            }
            #expect(try await files(scene) == before)
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("hosts = [\"registry.example.com:5000\"]", with: ""))
            // The first part of the remedy has been done, so only the rest is printed.
            let again = try await run("tokenctl setup docker --session work", in: scene)
            #expect(again.standardError.hasSuffix("\n  Run: tokenctl reload\n"), "\(again)")
            #expect(try await run("tokenctl reload", in: scene).status == 0)
            let made = try await run("tokenctl setup docker --session work", in: scene)
            #expect(made.status == 0, "\(made)")
        }
    }
}
