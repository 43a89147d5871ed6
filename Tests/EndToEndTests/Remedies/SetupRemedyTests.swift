// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Remedies of `tokenctl setup`, each followed in the file, the environment or the command line that it is about.
    @Suite struct SetupRemedyTests {
        private static let provider =
            "//iam.googleapis.com/projects/N/locations/global/workloadIdentityPools/POOL/providers/P"

        private static let ofOptions = [
            CorrectedLine(
                line: "tokenctl setup pip --session work",
                remedy: "Retry: without --session",
                followed: "tokenctl setup pip --print"
            ),
            CorrectedLine(
                line: "tokenctl setup terraform --name x",
                remedy: "Retry: without --name",
                followed: "tokenctl setup terraform --print"
            ),
            CorrectedLine(
                line: "HOME=here tokenctl setup terraform",
                remedy: "Set: HOME to your home directory",
                followed: "tokenctl setup terraform --print"
            ),
            CorrectedLine(
                line: "tokenctl setup npm",
                remedy: "See: tokenagent-clients(7)",
                followed: """
                    sed -n '/^.Ss npm/,/^.Ed/p' MANUAL | grep -q 'tokenctl exec work --env BEARER_TOKEN -- npm' &&
                    tokenctl exec work --env BEARER_TOKEN -- sh -c 'test -n "$BEARER_TOKEN"'
                    """
            ),
            CorrectedLine(
                line: "tokenctl setup systemd --name tokenagent.sockt",
                remedy: "Set: --name to tokenagent.socket or tokenagent-proxy.service",
                followed: "tokenctl setup systemd --name tokenagent.socket --print"
            ),
            CorrectedLine(
                line: "tokenctl setup git --session corp",
                remedy: "Set: --host for each server",
                followed: "tokenctl setup git --session corp --host a.corp.example.com --print"
            ),
            CorrectedLine(
                line: "tokenctl setup systemd",
                remedy: "Run: loginctl enable-linger",
                followed: "REMEDY && tokenctl setup systemd"
            ),
            CorrectedLine(
                line: "tokenctl setup gcloud --session work",
                remedy: "Set: --audience to \(provider)",
                followed: "tokenctl setup gcloud --session work --audience \(provider) --print"
            ),
            CorrectedLine(
                line: "tokenctl setup gcloud --session work --audience pool",
                remedy: "Set: --audience to \(provider)",
                followed: "tokenctl setup gcloud --session work --audience \(provider) --print"
            ),
        ]

        private static let ofFiles = [
            CorrectedLine(
                line:
                    "echo '[registries' >.cargo/config.toml; tokenctl setup cargo --session work --name inner",
                remedy: "Retry: after correcting the file",
                followed:
                    "echo '[registries]' >.cargo/config.toml; tokenctl setup cargo --session work --name inner"
            ),
            CorrectedLine(
                line: """
                    printf '[registries]\\ninner = { index = "x" }\\n' >.cargo/config.toml
                    tokenctl setup cargo --session work --name inner
                    """,
                remedy: "Retry: after removing it",
                followed:
                    "sed -i /inner/d .cargo/config.toml; tokenctl setup cargo --session work --name inner"
            ),
            CorrectedLine(
                line:
                    "echo no JSON >.mcp.json; tokenctl setup mcp --url https://mcp.example.com/mcp --name x",
                remedy: "Retry: after correcting the file",
                followed:
                    "echo '{}' >.mcp.json; tokenctl setup mcp --url https://mcp.example.com/mcp --name x"
            ),
            CorrectedLine(
                line: "tokenctl setup mcp --url https://other.example.com/mcp --name x",
                remedy: "Set: --name to another name, or remove the entry",
                followed: "tokenctl setup mcp --url https://other.example.com/mcp --name y"
            ),
            CorrectedLine(
                line: """
                    mkdir .docker; echo '{"credHelpers":{"git.example.com":"desktop"}}' >.docker/config.json
                    tokenctl setup docker
                    """,
                remedy: "Retry: after removing it",
                followed: "echo '{\"credHelpers\":{}}' >.docker/config.json; tokenctl setup docker"
            ),
            CorrectedLine(
                line: "touch .gitconfig.lock; tokenctl setup git",
                remedy: "Retry: after removing the lock file, if no program is using it",
                followed: "rm .gitconfig.lock; tokenctl setup git"
            ),
            CorrectedLine(
                line: "echo 'credentials_helper \"mine\" {}' >.terraformrc; tokenctl setup terraform",
                remedy: "Retry: after removing it",
                followed: "rm .terraformrc; tokenctl setup terraform"
            ),
            CorrectedLine(
                line: """
                    echo mine >google.json
                    tokenctl setup gcloud --session work --audience \(provider) --file ~/google.json
                    """,
                remedy: "Set: --file to another path",
                followed: "tokenctl setup gcloud --session work --audience \(provider) --file ~/other.json"
            ),
        ]

        private static let ofPrograms = [
            CorrectedLine(
                line: """
                    mkdir early; cp .local/bin/go early/docker-credential-tokenagent
                    PATH=~/early:$PATH tokenctl setup docker
                    """,
                remedy: "Set: PATH with ",
                followed: "PATH=$PATH:~/early tokenctl setup docker"
            ),
            CorrectedLine(
                line: "cp .local/bin/go .local/bin/keyring; tokenctl setup uv",
                remedy: "Retry: after removing it",
                followed: "rm .local/bin/keyring; tokenctl setup uv"
            ),
            CorrectedLine(
                line: "GOAUTH=off tokenctl setup go",
                remedy: "Run: unset GOAUTH",
                followed: "export GOAUTH=off; REMEDY; tokenctl setup go"
            ),
            CorrectedLine(
                line: "GOENV=off tokenctl setup go --undo; GOENV=off tokenctl setup go",
                remedy: "Run: unset GOENV",
                followed: "export GOENV=off; REMEDY; tokenctl setup go"
            ),
        ]

        private static let ofSockets = [
            CorrectedLine(
                line: "tokenctl setup devcontainer --local ~/tokens/x.sock",
                remedy: "Set: --file to the path of devcontainer.json",
                followed: """
                    mkdir container; echo '{}' >container/devcontainer.json
                    tokenctl setup devcontainer --local ~/tokens/x.sock --file container/devcontainer.json
                    """
            ),
            CorrectedLine(
                line:
                    "tokenctl setup ssh --host far --remote /run/y.sock --local ~/run/tokenagent/agent.sock",
                remedy: "Set: --local to the path of a [[socket]]",
                followed: "tokenctl setup ssh --host far --remote /run/y.sock --local ~/tokens/x.sock"
            ),
            CorrectedLine(
                line: "echo '{}' >.devcontainer.json; tokenctl setup devcontainer --local ~/far/x.sock",
                remedy: "Set: path in a [[socket]] to this path, then run tokenctl reload",
                followed: "sed -i s,tokens/x.sock,far/x.sock, config/tokenagent/config.toml; REMEDY",
                then: 1
            ),
            CorrectedLine(
                line: "tokenctl reload",
                remedy: "Run: tokenctl shutdown",
                followed:
                    "REMEDY && tokenagent && tokenctl reload && tokenctl setup devcontainer --local ~/far/x.sock"
            ),
            CorrectedLine(
                line: """
                    sed -i s,far/x.sock,x.sock, config/tokenagent/config.toml
                    tokenctl shutdown && tokenagent
                    tokenctl setup devcontainer --undo; tokenctl setup devcontainer --local ~/x.sock
                    """,
                remedy: "Set: path in the [[socket]] to a separate directory, then run tokenctl reload",
                followed: """
                    sed -i s,/x.sock,/apart/x.sock, config/tokenagent/config.toml
                    { REMEDY || { tokenctl shutdown && tokenagent; }; } &&
                    tokenctl setup devcontainer --local ~/apart/x.sock
                    """
            ),
        ]

        private static let ofHosts = [
            CorrectedLine(
                line: "tokenctl setup git",
                remedy: "Set: --session",
                followed: "tokenctl setup git --session work"
            )
        ]

        /// A scene with the user's own programs first in `PATH`.
        private func scene(_ more: String = "") async throws -> Scene {
            let scene = try await Scene.loggedIn(
                session: "hosts = [\"git.example.com\", \"registry.example.com:5000\"]",
                more: more
            )
            let home = scene.agent.home
            for name in [".local", ".local/bin", ".cargo"] { try home.makeDirectory(name) }
            let go = #"""
                #!/bin/sh
                case "$1" in
                    version) echo "go version go1.24 linux/amd64" ;;
                    env) sed -n 's/^GOAUTH=//p' "$XDG_CONFIG_HOME/go/env" ;;
                esac

                """#
            try home.write(go, to: ".local/bin/go", mode: 0o755)
            // In place of the programs of systemd, which would change the services of the user who runs the tests.
            let manager = """
                #!/bin/sh
                case "$*" in
                    *is-enabled*) echo enabled ;;
                    *ActiveState*) echo ActiveState=active ;;
                    enable-linger) touch "$HOME/lingering" ;;
                    show-user*) [ ! -e "$HOME/lingering" ] || echo Linger=yes ;;
                esac

                """
            for name in ["systemctl", "loginctl"] {
                try home.write(manager, to: ".local/bin/\(name)", mode: 0o755)
            }
            return scene
        }

        /// Follows `rows` with the user's own programs in `PATH`.
        private func follow(_ rows: [CorrectedLine], in scene: Scene) async throws {
            let path = "PATH=~/.local/bin:$PATH; "
            try await scene.follow(
                rows.map {
                    CorrectedLine(
                        line: path + $0.line,
                        remedy: $0.remedy,
                        followed: path + $0.followed,
                        then: $0.then
                    )
                },
                ["MANUAL": "\(BuiltPrograms.checkout)/man/tokenagent-clients.7"]
            )
        }

        @Test(.holds("243"), arguments: [ofOptions, ofFiles, ofPrograms])
        func `what is in the way of a setup is removed as it is said`(rows: [CorrectedLine]) async throws {
            let corp = """
                [session.corp]
                kind = "oauth2"
                token_endpoint = "http://127.0.0.1:9/token"
                client_id = "x"
                flow = "password"
                hosts = ["*.corp.example.com"]

                """
            try await follow(rows, in: scene(corp))
        }

        @Test func `a socket for a setup is chosen as it is said`() async throws {
            let scene = try await scene()
            let table = """

                [[socket]]
                path = "\(scene.agent.home.path("tokens/x.sock"))"
                sessions = ["work"]

                """
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + table)
            try await scene.agent.end()
            try await scene.agent.start()
            try await follow(Self.ofSockets, in: scene)
        }

        @Test func `one of two sessions for a server is set up for git as it is said`() async throws {
            let other = """
                [session.other]
                kind = "oauth2"
                token_endpoint = "http://127.0.0.1:9/token"
                client_id = "x"
                flow = "password"
                hosts = ["git.example.com"]

                """
            try await follow(Self.ofHosts, in: scene(other))
        }
    }
}
