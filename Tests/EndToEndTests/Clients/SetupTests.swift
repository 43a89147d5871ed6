// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// `tokenctl setup` with the real programs of this machine, in a temporary home directory.
    @Suite struct SetupTests {
        private static let hosts = "hosts = [\"git.example.com\", \"registry.example.com:5000\"]"
        /// The table of a session whose credentials are not requested.
        private static let role = """
            [session.deploy]
            kind = "aws_role"
            role_arn = "\(STSDouble.roleARN)"
            sts_endpoint = "http://127.0.0.1:9/"
            from = "work"
            """

        private func scene() async throws -> Scene {
            let scene = try await Scene.loggedIn(session: Self.hosts, more: Self.role)
            _ = try ToolDirectory.including(Self.hasKubectl ? ["kubectl"] : [], in: scene.agent.home)
            // In place of a [[socket]].
            try scene.agent.home.makeDirectory("tokens")
            try File.makeSocket(scene.agent.home.path("tokens/x.sock"))
            return scene
        }

        /// A home that has a directory for programs.
        private func sceneWithPrograms() async throws -> Scene {
            let scene = try await scene()
            try scene.agent.home.makeDirectory(".local")
            try scene.agent.home.makeDirectory(".local/bin")
            return scene
        }

        /// Runs `script` with the user's own programs in `PATH`.
        private func run(_ script: String, in scene: Scene) async throws -> ProgramResult {
            try await scene.agent.shell("cd; PATH=\"$HOME/.local/bin:$HOME/clients:$PATH\"; \(script)")
        }

        /// Every directory and file of the home directory but the agent's, with its content.
        private func files(_ scene: Scene) async throws -> String {
            let script = """
                find . -path ./run -prune -o -path ./state -prune -o -path ./config/tokenagent -prune -o \
                -path ./.cache -prune -o -type d -print -o -type l -print -o -type f -print -exec cat {} \\; | sort
                """
            return try await run(script, in: scene).standardOutput
        }

        /// The command and the option that a program needs, and what it then says that shows it has understood.
        private static let programs = [
            (
                "git", "",
                "printf 'protocol=https\\nhost=git.example.com\\n\\n' | git credential fill", "password=TOKEN"
            ),
            ("docker", "", "echo registry.example.com:5000 | docker-credential-tokenagent get", "TOKEN"),
            (
                "kubectl", "--session work",
                "$(kubectl config view -o jsonpath='{.users[0].user.exec.command}') kube-credential work",
                "TOKEN"
            ),
            ("pip", "", "keyring --mode=creds --output=json get https://git.example.com/simple", "TOKEN"),
            ("uv", "", "keyring get https://git.example.com oauth2", "TOKEN"),
            ("cargo", "--session work --name inner", "cat .cargo/config.toml", "[registries.inner]"),
            ("go", "", "cat config/go/env", "tokenctl goauth"),
            (
                "terraform", "",
                "~/.terraform.d/plugins/terraform-credentials-tokenagent get git.example.com", "TOKEN"
            ),
            (
                "bazel", "",
                "echo '{\"uri\":\"https://git.example.com\"}' | $(sed -n 's/.*=//p' .bazelrc | head -n 1) get",
                "TOKEN"
            ),
            ("aws", "--session deploy", "cat .aws/config", "[profile deploy]"),
            (
                "ssh", "--host far --local $HOME/tokens/x.sock --remote /run/y.sock",
                "ssh -F .ssh/config -G far",
                "remoteforward /run/y.sock HOME/tokens/x.sock"
            ),
            (
                "mcp", "--url https://mcp.example.com/mcp", "cat .mcp.json",
                "\"mcp.example.com\": {\"command\":"
            ),
        ]

        /// Whether there is a kubectl that knows --exec-interactive-mode (1.22).
        private static let hasKubectl = Program.succeeds(
            "kubectl config set-credentials --help | grep -q exec-interactive-mode"
        )

        /// The programs that can be tested on this machine.
        private static let present = programs.filter { client, _, _, _ in
            client != "kubectl" || hasKubectl
        }

        @Test(.holds("243"), arguments: present)
        func `a program is set up, works, and is as before afterwards`(
            client: String,
            options: String,
            use: String,
            shows: String
        ) async throws {
            let scene = try await scene()
            let home = scene.agent.home
            for (name, text) in [
                (".gitconfig", "[user]\n\tname = Ann\n[credential]\n\thelper = cache\n"),
                (".terraformrc", "# mine\n"),
                (".bazelrc", "build -c opt"),
            ] {
                try home.write(text, to: name, mode: 0o644)
            }
            let before = try await files(scene)
            let planned = try await run("tokenctl setup \(client) \(options) --print", in: scene)
            #expect(planned.status == 0 && !planned.standardOutput.isEmpty, "\(planned)")
            #expect(try await files(scene) == before)
            let made = try await run("tokenctl setup \(client) \(options)", in: scene)
            #expect(made.status == 0 && made.standardError.isEmpty, "\(made)")
            #expect(
                made.standardOutput.contains("To undo, run: tokenctl setup \(client) --undo"),
                "\(made)"
            )
            let used = try await run(use, in: scene)
            let token = try await scene.token()
            let shown = shows.replacing("TOKEN", with: token).replacing("HOME", with: home.path)
            #expect(used.standardOutput.contains(shown), "\(used)")
            let again = try await run("tokenctl setup \(client) \(options)", in: scene)
            #expect(again.standardOutput.contains("\(client) is already set up"), "\(again)")
            try await checkUndo("\(client) \(client == "kubectl" ? "--session work" : "")", in: scene)
            #expect(try await files(scene) == before)
        }

        /// Prints the changes to undo, undoes them, and checks that there are no others.
        private func checkUndo(_ options: String, in scene: Scene) async throws {
            let present = try await files(scene)
            let undo = "tokenctl setup \(options) --undo"
            let shown = try await run(undo + " --print", in: scene)
            #expect(shown.status == 0 && !shown.standardOutput.isEmpty, "\(shown)")
            #expect(try await files(scene) == present)
            let undone = try await run(undo, in: scene)
            #expect(undone.status == 0, "\(undone)")
            for line in undone.standardOutput.split(separator: "\n") {
                let place = line.replacing("Undone: ", with: "")
                #expect(line != place && shown.standardOutput.contains(place), "\(undone)\(shown)")
            }
            let again = try await run(undo + " --print", in: scene)
            #expect(again.standardOutput == "nothing to undo\n", "\(again)")
        }

        @Test(.holds("243")) func `what a person wrote is in the way, and nothing is changed`() async throws {
            let scene = try await sceneWithPrograms()
            let home = scene.agent.home
            try home.write("credentials_helper \"mine\" {}\n", to: ".terraformrc")
            try home.write("#!/bin/sh\n", to: ".local/bin/keyring", mode: 0o755)
            try home.makeDirectory(".docker")
            let docker = #"{"credHelpers":{"git.example.com":"desktop"}}"#
            try home.write(docker, to: ".docker/config.json")
            try home.makeDirectory(".cargo")
            try home.write("[registries]\ninner = { index = \"x\" }\n", to: ".cargo/config.toml")
            try home.makeDirectory(".aws")
            try home.write("[profile \"deploy\"]\ncredential_process = mine\n", to: ".aws/config")
            let before = try await files(scene)
            for (client, words) in [
                (
                    "cargo --session work --name inner",
                    "already has another key, table or string for [registries.inner]"
                ),
                ("aws --session deploy", "already has a conflicting line: credential_process = mine"),
                ("aws --session work", "a session of kind oidc has no role credentials"),
                ("terraform", "already has a conflicting line: credentials_helper \"mine\" {}"),
                ("pip", ".local/bin/keyring already exists\n  Retry: after removing it"),
                ("docker", "already has another entry in credHelpers for git.example.com"),
            ] {
                let result = try await run("tokenctl setup \(client)", in: scene)
                #expect(result.status == 2 && result.standardError.contains(words), "\(result)")
                #expect(try await files(scene) == before)
            }
        }

        @Test(.enabled(if: hasKubectl, "kubectl is not installed, or too old"))
        func `a person's user of a kubeconfig stays`() async throws {
            let scene = try await scene()
            let made = try await run("kubectl config set-credentials mine --token=secret", in: scene)
            #expect(made.status == 0, "\(made)")
            let before = try await files(scene)
            let options = "kubectl --session work --name mine"
            let result = try await run("tokenctl setup \(options)", in: scene)
            #expect(result.status == 2 && result.standardError.contains("another setting"), "\(result)")
            let undone = try await run("tokenctl setup \(options) --undo", in: scene)
            #expect(undone.status == 0 && !undone.standardOutput.contains("Undone"), "\(undone)")
            #expect(try await files(scene) == before)
        }

        @Test(.enabled(if: hasKubectl, "kubectl is not installed, or too old"))
        func `what is said about the contexts of a kubeconfig can be run`() async throws {
            let scene = try await scene()
            let setup = "tokenctl setup kubectl --session work"
            let user = "kubectl config view --minify -o jsonpath='{.contexts[0].context.user}'"
            func follow(_ state: String, shown: String) async throws {
                let made = try await run("\(state); \(setup) \(options)", in: scene)
                let note = made.standardOutput.split(separator: "\n").first { $0.hasPrefix("Note: ") } ?? ""
                #expect(note.contains(shown), "\(made)")
                let command = note.split(separator: "(run: ", maxSplits: 1).last?.dropLast() ?? ""
                let line = command.replacing("CONTEXT", with: "'my context'").replacing(
                    "CLUSTER",
                    with: "far"
                ).replacing("URL", with: "https://k")
                let used = try await run("\(line) && \(user) \(kubeconfig)", in: scene)
                #expect(used.standardOutput.hasSuffix("tokenagent-work"), "\(line) \(used)")
                let again = try await run("\(setup) \(options)", in: scene)
                #expect(!again.standardOutput.contains("context"), "\(again)")
            }
            var (options, kubeconfig) = ("", "")
            try await follow("true", shown: "no context and no cluster")
            try await follow(
                "rm -r .kube; kubectl config set-cluster far",
                shown: "no context, only the clusters: far"
            )
            let unset =
                "kubectl config set-context 'my context' --user=x; kubectl config unset current-context"
            try await follow(unset, shown: "none of the contexts is current: my context")
            try await follow("kubectl config set-context --current --user=x", shown: "no context uses it yet")
            (options, kubeconfig) = ("--file 'other file'", "--kubeconfig 'other file'")
            try await follow("true", shown: "no context and no cluster")
        }

        @Test(.holds("243")) func `a link that the installation made stays`() async throws {
            let scene = try await sceneWithPrograms()
            let programs = scene.agent.home.path(".local/bin")
            try File.link(programs + "/tokenctl", to: BuiltPrograms.client)
            try File.link(programs + "/docker-credential-tokenagent", to: "tokenctl")
            let before = try await files(scene)
            let made = try await run("tokenctl setup docker", in: scene)
            #expect(made.status == 0 && !made.standardOutput.contains("->"), "\(made)")
            let undone = try await run("tokenctl setup docker --undo", in: scene)
            #expect(undone.status == 0 && undone.standardOutput.contains("Undone: "), "\(undone)")
            #expect(try await files(scene) == before)
        }

        @Test func `sockets are named by absolute paths`() async throws {
            let scene = try await scene()
            for command in [
                "ssh --host far --local x.sock --remote /run/y.sock", "devcontainer --local x.sock",
            ] {
                let result = try await run("tokenctl setup \(command)", in: scene)
                #expect(result.status == 2 && result.standardError.contains("absolute path"), "\(result)")
            }
        }

        @Test func `a program that is told of no server says what is missing`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl("setup", "git")
            #expect(
                result.status == 2
                    && result.standardError.contains("Set: hosts in [session.NAME], then run tokenctl reload"),
                "\(result)"
            )
            let aws = try await scene.agent.tokenctl("setup", "aws")
            #expect(aws.status == 2 && aws.standardError.contains("--session"), "\(aws)")
            let odd = try await scene.agent.tokenctl("setup", "cargo", "--session", "work", "--name", "a]\nb")
            #expect(odd.status == 2 && odd.standardError.contains("one word"), "\(odd)")
        }

        @Test(.holds("243")) func `a container's directory of sockets is mounted by the editor's file`()
            async throws
        {
            let scene = try await scene()
            let text = "{\n  // mine\n  \"image\": \"debian\",\n}\n"
            try scene.agent.home.write(text, to: ".devcontainer.json")
            let made = try await run(
                "tokenctl setup devcontainer --local $HOME/tokens/x.sock",
                in: scene
            )
            #expect(made.status == 0, "\(made)")
            let changed = try #require(File.text(scene.agent.home.path(".devcontainer.json")))
            #expect(
                changed.contains(
                    "\"mounts\": [/* tokenctl setup */ \"source=\(scene.agent.home.path)/tokens,target=/run/tokenagent,type=bind\"]"
                )
            )
            #expect(
                changed.contains(
                    "\"containerEnv\": {/* tokenctl setup */ \"TOKENAGENT_SOCK\": \"/run/tokenagent/x.sock\"}"
                )
            )
            #expect(try await run("tokenctl setup devcontainer --undo", in: scene).status == 0)
            #expect(File.text(scene.agent.home.path(".devcontainer.json")) == text)
        }

        @Test(arguments: ["tokenagent.socket", "tokenagent-proxy.service"])
        func `a unit is enabled and started, and stopped again`(unit: String) async throws {
            let scene = try await Scene.loggedIn()
            // A substitute for the user's service manager, which runs only while the user is logged in.
            let manager = #"""
                #!/bin/sh
                echo "$*" >>"$HOME/asked"
                shift
                case $1 in
                    enable) test -e "$HOME/no-bus" && { echo 'Failed to connect to bus' >&2; exit 1; }; touch "$HOME/enabled.$3" ;;
                    disable) rm -f "$HOME/enabled.$3" ;;
                    is-enabled) test -e "$HOME/enabled.$2" && echo enabled || { echo disabled; exit 1; } ;;
                    show) test -e "$HOME/enabled.$3" && echo ActiveState=active || echo ActiveState=inactive ;;
                esac

                """#
            try scene.agent.home.makeDirectory("manager")
            try scene.agent.home.write(manager, to: "manager/systemctl", mode: 0o700)
            let client = "PATH=\"$HOME/manager:$PATH\" tokenctl setup systemd"
            let setup = "\(client) --name \(unit)"
            let made = try await run(setup, in: scene)
            #expect(made.status == 0 && made.standardOutput.contains("--undo"), "\(made)")
            let asked = try #require(File.text(scene.agent.home.path("asked")))
            #expect(asked.contains("--user enable --now \(unit)\n"), "\(asked)")
            let undone = try await run(client + " --undo", in: scene)
            #expect(undone.status == 0 && undone.standardOutput.contains("Undone: "), "\(undone)")
            #expect(!File.exists(scene.agent.home.path("enabled.\(unit)")))
            try scene.agent.home.write("", to: "no-bus")
            let failed = try await run(setup, in: scene)
            let reason = "systemctl failed with status 1: Failed to connect to bus"
            #expect(failed.status == 1 && failed.standardError.contains(reason), "\(failed)")
            let other = try await run(setup + "x", in: scene)
            #expect(other.status == 2 && other.standardError.contains("tokenagent-proxy.service"), "\(other)")
        }

        @Test func `the file for Google's programs names the command that answers them`() async throws {
            let scene = try await scene()
            let options = "--session work --audience //iam.googleapis.com/p --file /x/google.json"
            let made = try await run(
                "PATH=/usr/bin:/bin $(command -v tokenctl) setup gcloud \(options) --print",
                in: scene
            )
            #expect(made.status == 0, "\(made)")
            #expect(made.standardOutput.contains("tokenctl google work"), "\(made)")
            #expect(made.standardOutput.contains("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"))
        }
    }
}
