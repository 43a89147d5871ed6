// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// Containers as far as they matter here, mounts, users and variables, made by bubblewrap in place of an engine.
private enum Engine {
    static let works = Program.succeeds("bwrap --ro-bind / / --unshare-user --unshare-pid true")

    /// A substitute for `docker run` and `podman run`, in which the programs under test replace the installed ones.
    static let script = """
        #!/usr/bin/env python3
        import os, sys
        words, build, home = sys.argv[2:], os.environ["BUILD"], os.environ["HOME"]
        user = (os.environ.get("CONTAINER_USER", "0"), "0")
        mounts = ["--ro-bind", "/", "/", "--tmpfs", "/run", "--tmpfs", home, "--ro-bind", build, build]
        variables = ["--clearenv", "--setenv", "PATH", build + ":/usr/bin:/bin", "--setenv", "HOME", "/run"]
        while words:
            word = words.pop(0)
            if word == "-u": user = words.pop(0).split(":")
            elif word == "-e": variables += ["--setenv", *words.pop(0).split("=", 1)]
            elif word == "-v":
                source, target, *mode = words.pop(0).split(":")
                if target != "/usr/local/bin/tokenctl":
                    mounts += ["--ro-bind" if mode else "--bind", source, target]
            elif word == "--userns=keep-id": user = (str(os.getuid()), str(os.getgid()))
            elif word != "--rm": break  # the image
        os.execvp("bwrap", ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--uid", user[0], "--gid", user[1],
                            *mounts, "--proc", "/proc", "--dev", "/dev", *variables, *words])

        """

    /// A substitute for a container engine that runs a command as a `devcontainer.json` describes.
    static let devcontainer = """
        #!/usr/bin/env python3
        import json, os, sys
        with open("devcontainer.json") as file: settings = json.load(file)
        words = ["docker", "run", "-u", f"{os.getuid()}:{os.getgid()}"]
        for mount in settings["mounts"]:
            parts = dict(part.split("=") for part in mount.split(",") if "=" in part)
            source = parts["source"].replace("${localEnv:HOME}", os.environ["HOME"])
            words += ["-v", source + ":" + parts["target"] + (":ro" if mount.endswith(",readonly") else "")]
        for name, value in settings["containerEnv"].items(): words += ["-e", name + "=" + value]
        os.execvp("docker", words + [settings["image"]] + sys.argv[1:])

        """
}

extension EndToEnd {
    /// A `[[socket]]` in containers, by the examples of tokenagent.conf(5).
    @Suite(.full, .enabled(if: Engine.works, "bubblewrap is not installed or may make no containers"))
    struct ContainerTests {
        /// The beginnings of the examples whose command prints a token.
        private static let starts = ["$ docker run", "$ podman run", "$ bwrap"]
        /// A command that runs a container like that of the example, without the command to run in it.
        private static let run =
            "docker run --rm -v ~/tokens/box:/run/tokens -e TOKENAGENT_SOCK=/run/tokens/agent.sock debian"

        /// A scene with a socket for `work` in `~/tokens/box`, and stand-ins for the engines before all other programs.
        private func scene() async throws -> Scene {
            let scene = try await Scene(session: #"hosts = ["127.0.0.1"]"#)
            let text = try #require(File.text(scene.agent.configurationPath))
            let socket = "[[socket]]\npath = \"~/tokens/box/agent.sock\"\nsessions = [\"work\"]\n"
            try scene.agent.configure(text + Scene.session("mail", scene.issuer) + socket)
            let home = scene.agent.home
            try home.makeDirectory("stand-ins")
            for engine in ["docker", "podman"] {
                try home.write(Engine.script, to: "stand-ins/\(engine)", mode: 0o700)
            }
            try home.write(Engine.devcontainer, to: "stand-ins/devcontainer-exec", mode: 0o700)
            try home.write(
                #"#!/bin/sh\#ntest "$1" = -e && shift && exec "$@"\#n"#,
                to: "stand-ins/wsl.exe",
                mode: 0o700
            )
            // The programs under test and their libraries lie outside of /usr.
            try home.write(
                """
                #!/bin/sh
                exec bwrap --ro-bind / / --tmpfs "$HOME" --tmpfs /run "$@"

                """,
                to: "stand-ins/sandbox",
                mode: 0o700
            )
            try await scene.agent.start()
            try await scene.logIn()
            try await scene.logIn("mail")
            return scene
        }

        private func start(_ script: String, in scene: Scene, user: String? = nil) throws -> Program {
            var environment = scene.agent.environment
            environment["PATH"] = scene.agent.home.path("stand-ins") + ":" + TestEnvironment.searchPath
            environment["BUILD"] = BuiltPrograms.directory
            environment["CONTAINER_USER"] = user
            return try Program(
                ["/bin/sh", "-c", script],
                environment: environment,
                directory: scene.agent.home.path,
                hasTerminal: false
            )
        }

        private func shell(
            _ script: String,
            in scene: Scene,
            user: String? = nil
        ) async throws -> ProgramResult {
            try await start(script, in: scene, user: user).finish()
        }

        private func example(_ start: String) throws -> DocumentedExample {
            try #require(DocumentedExample.all.first { $0.text.hasPrefix(start) }, "no example: \(start)")
        }

        @Test(.holds("251"), arguments: starts)
        func `an example of an engine prints the token`(start: String) async throws {
            let scene = try await scene()
            var script = try example(start).commands
            if start == "$ bwrap" {
                // Binding /usr is enough for an installed release, but not for the programs under test.
                script = script.replacing("bwrap --ro-bind /usr /usr", with: "sandbox --ro-bind /usr /usr")
                    .replacing("--symlink usr/bin /bin --symlink usr/lib /lib", with: "")
                    .replacing("--symlink usr/lib64 /lib64", with: "")
                    .replacing("tokenctl get", with: "\(BuiltPrograms.client) get")
            }
            let result = try await shell(script, in: scene)
            let token = try await scene.token()
            #expect(result.status == 0 && result.line == token, "\(result)\n\(script)")
        }

        @Test(.holds("251")) func `a devcontainer has the token too`() async throws {
            let scene = try await scene()
            let example = try #require(
                DocumentedExample.all.first { $0.text.contains("mcr.microsoft.com/devcontainers") }
            )
            try scene.agent.home.write(example.text, to: "devcontainer.json")
            let result = try await shell("devcontainer-exec tokenctl get work", in: scene)
            let token = try await scene.token()
            #expect(result.status == 0 && result.line == token, "\(result)")
        }

        @Test(.holds("251")) func `programs of Windows run tokenctl in the distribution`() async throws {
            let scene = try await scene()
            let repository = try await GitRepository(in: scene.agent.home)
            let token = try await scene.token()
            repository.serve(at: scene.issuer) { $0 == token }
            let line = try example("$ git config --global credential.helper '!wsl").commands
            let path = "PATH=\"$PATH:$BUILD\" GIT_TERMINAL_PROMPT=0"
            let result = try await shell(
                "\(line) && \(path) git clone -q \(repository.url(at: scene.issuer)) there && cat there/file",
                in: scene
            )
            #expect(result.line == "content", "\(result)")
        }

        @Test(.holds("251"), arguments: [nil, "1234"])
        func `helpers work inside, and nothing else is reached`(user: String?) async throws {
            let scene = try await scene()
            let token = try await scene.token()
            for command in [
                "tokenctl get work", "tokenctl kube-credential work",
                "sh -c 'echo https://127.0.0.1 | tokenctl docker-credential get'",
                #"sh -c 'printf "protocol=https\nhost=127.0.0.1\n\n" | tokenctl git-credential get'"#,
                #"sh -c 'tokenctl exec work -- sh -c "cat \$BEARER_TOKEN_FILE"'"#,
            ] {
                let result = try await shell("\(Self.run) \(command)", in: scene, user: user)
                #expect(result.status == 0 && result.standardOutput.contains(token), "\(command): \(result)")
            }
            #expect(try await shell("\(Self.run) tokenctl list", in: scene, user: user).line == "work")
            for (command, status) in [("get mail", 7), ("logout work", 8), ("lock", 8), ("audit", 8)] {
                let result = try await shell("\(Self.run) tokenctl \(command)", in: scene, user: user)
                #expect(result.status == status, "\(command): \(result)")
            }
            let own = scene.agent.socketPath
            let result = try await shell(
                "\(Self.run) tokenctl list --no-autostart --socket \(own)",
                in: scene,
                user: user
            )
            #expect(result.status == 3, "\(result)")
            #expect(scene.agent.home.names(in: "tokens/box/exec").isEmpty)
        }

        @Test(.holds("251")) func `a container that runs finds the socket of the next agent`() async throws {
            let scene = try await scene()
            let pipe = scene.agent.home.path("tokens/box/on")
            try #require(Program.succeeds("mkfifo '\(pipe)'"))
            let script = "tokenctl get work; read line </run/tokens/on; tokenctl get work"
            let program = try start("\(Self.run) sh -c '\(script)' 2>&1", in: scene)
            let token = try await scene.token()
            _ = try await program.outputLine(containing: token)
            try await scene.agent.end()
            try await scene.agent.start()
            #expect(Program.succeeds("echo on >'\(pipe)'"))
            let result = try await program.finish()
            #expect(result.standardOutput == "\(token)\n\(token)\n", "\(result)")
        }
    }
}
