// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

private let cannotMount: Comment = "file systems can only be mounted by root"

extension EndToEnd {
    /// Remedies for a machine, a disk or a server that is not as it should be.
    @Suite(.full) struct MachineRemedyTests {
        private static func session(at path: String) -> @Sendable (Scene) -> String? {
            { scene in
                let address = "\"\(scene.issuer.issuer)\""
                return Scene.session("work", scene.issuer)
                    .replacing(address, with: "\"\(scene.issuer.issuer)\(path)\"")
            }
        }

        private static func atServer(_ path: String) -> Followed {
            .configuration { text, _ in text.replacing("\(path)\"", with: "\"") }
        }

        private static let document = "/.well-known/openid-configuration"

        private static let ofServers: [RemedyCase] = [
            RemedyCase(
                name: "an address without metadata",
                remedy: "the address or ca_file in [session.work], then run tokenctl reload",
                arguments: ["doctor"],
                then: nil,
                configuration: session(at: "/wrong"),
                followed: atServer("/wrong")
            ),
            RemedyCase(
                name: "an address whose answer is too large",
                remedy: "the address in [session.work], then run tokenctl reload",
                arguments: ["doctor"],
                then: nil,
                configuration: session(at: "/large"),
                files: { scene in
                    scene.issuer.add(
                        Route("GET", "/large" + document) { _ in
                            .html(String(repeating: " ", count: 16 << 20))
                        }
                    )
                },
                followed: atServer("/large")
            ),
            RemedyCase(
                name: "a server that is busy",
                remedy: "(retry: later)",
                arguments: ["doctor"],
                then: nil,
                files: { scene in
                    let path = scene.agent.home.path("later")
                    for place in [document, "/.well-known/oauth-authorization-server"] {
                        let issuer = scene.issuer.issuer
                        scene.issuer.add(
                            Route("GET", place) { _ in
                                guard File.exists(path) else { return IssuerResponse(status: 503) }
                                return .json([
                                    "issuer": .string(issuer), "token_endpoint": .string("\(issuer)/token"),
                                    "jwks_uri": .string("\(issuer)/jwks"),
                                ])
                            }
                        )
                    }
                },
                followed: .shell("touch HOME/later")
            ),
            RemedyCase(
                name: "an address at which nobody listens",
                remedy: "after checking the network, the address and the firewall",
                arguments: ["doctor"],
                then: nil,
                configuration: { scene in
                    Scene.session("work", scene.issuer)
                        .replacing("\"\(scene.issuer.issuer)\"", with: "\"http://127.0.0.1:9\"")
                },
                followed: .shell(
                    "sed -i 's|http://127.0.0.1:9|ISSUER|' config/tokenagent/config.toml && tokenctl reload"
                )
            ),
        ]

        private static let ofFiles: [RemedyCase] = [
            RemedyCase(
                name: "a session's file with a wrong value",
                remedy: "a valid value, then run tokenctl reload",
                arguments: ["doctor"],
                then: nil,
                files: { scene in
                    try scene.agent.home.makeDirectory("config/tokenagent/sessions.d")
                    let text = Scene.session("z", scene.issuer).replacing("\"oidc\"", with: "\"odic\"")
                    try scene.agent.home.write(text, to: "config/tokenagent/sessions.d/z.toml")
                },
                followed: .shell(
                    "sed -i 's/\"odic\"/\"oidc\"/' config/tokenagent/sessions.d/z.toml && tokenctl reload"
                )
            ),
            RemedyCase(
                name: "a state directory that has gone",
                remedy: "--state-dir to a directory that the agent can read",
                arguments: ["doctor"],
                then: nil,
                prepare: { scene in File.removeTree(scene.agent.statePath) },
                followed: .shell("tokenagent -k; tokenagent --state-dir HOME/other")
            ),
        ]

        @Test(arguments: ofServers + ofFiles)
        func `what the doctor says about a server or a file helps`(_ row: RemedyCase) async throws {
            try await row.verify()
        }

        /// Runs the doctor, which must print `remedy` until `follow` has run.
        private func expect(
            _ remedy: String,
            of scene: Scene,
            until follow: (PrintedRemedy) async throws -> Void
        ) async throws {
            let before = try await scene.agent.tokenctl("doctor")
            try await follow(try #require(PrintedRemedy(before, holding: remedy), "\(before)"))
            let after = try await scene.agent.tokenctl("doctor")
            #expect(PrintedRemedy(after, holding: remedy) == nil, "\(after)")
        }

        @Test(.enabled(if: SmallDisk.possible.contains(.tmpfs), cannotMount))
        func `a disk that is mounted read-only is mounted for writing`() async throws {
            let scene = try await Scene.loggedIn()
            let path = scene.agent.statePath
            func mount(_ options: String) async throws {
                let result = try await scene.agent.shell("PATH=/usr/bin:/bin; mount \(options) '\(path)'")
                try #require(result.status == 0, "\(result)")
            }
            try await mount("--bind '\(path)'")
            try await mount("-o remount,bind,ro")
            try await expect("the mount to read-write, or --state-dir to another directory", of: scene) { _ in
                try await mount("-o remount,bind,rw")
            }
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            try await scene.agent.end()
            #expect(try await scene.agent.shell("PATH=/usr/bin:/bin; umount '\(path)'").status == 0)
        }

        @Test func `a kernel that has Landlock again closes the sandbox`() async throws {
            let scene = try await Scene()
            // landlock_create_ruleset, ENOSYS.
            try await scene.agent.start(wrapper: DeniedSystemCall.wrapper(444, failingWith: 38))
            try await expect("the kernel or container to allow seccomp and Landlock", of: scene) { _ in
                try await scene.agent.end()
                try await scene.agent.start()
            }
        }

        @Test func `a clock that is wrong is set from the network`() async throws {
            let scene = try await Scene()
            let issuer = scene.issuer.issuer
            let metadata: JSONObject = [
                "issuer": .string(issuer), "token_endpoint": .string("\(issuer)/token"),
                "jwks_uri": .string("\(issuer)/jwks"),
            ]
            // The clocks agree once the command has run.
            let mark = scene.agent.home.path("synchronized")
            scene.issuer.add(
                Route("GET", Self.document) { _ in
                    let date = ("Date", "Thu, 01 Jan 2026 03:00:00 GMT")
                    return IssuerResponse(
                        headers: [("Content-Type", "application/json")] + (File.exists(mark) ? [] : [date]),
                        body: JSONValue.object(metadata).serialized
                    )
                }
            )
            try scene.agent.home.makeDirectory("bin")
            try scene.agent.home.write(
                "#!/bin/sh\n[ \"$*\" = 'set-ntp true' ] && touch '\(mark)'\n",
                to: "bin/timedatectl",
                mode: 0o700
            )
            try await scene.agent.start()
            try await expect("timedatectl set-ntp true", of: scene) { remedy in
                let result = try await scene.paste("PATH=\"$HOME/bin:$PATH\"; \(remedy.text)")
                #expect(result.status == 0, "\(result)")
            }
        }

        @Test func `a program of the counter that fails is repaired`() async throws {
            let scene = try await Scene()
            try scene.makeCounter(at: 0)
            try scene.configureCounter()
            try await scene.agent.start()
            try await scene.logIn()
            _ = try await scene.settledCounter()
            try scene.breakCounter("increment) exit 3;;")
            let remedy = "vault.rollback_counter to a program that works"
            for isTold in [true, false] {
                // The agent increments the counter at each unlock.
                #expect(try await scene.agent.tokenctl("lock").status == 0)
                #expect(try await scene.agent.tokenctl("unlock").status == 0)
                let changes = try await Polling.until(within: .seconds(30)) {
                    let doctor = try await scene.agent.tokenctl("doctor")
                    return (PrintedRemedy(doctor, holding: remedy) != nil) == isTold
                }
                #expect(changes, "\(isTold): \(scene.agent.log)")
                try scene.repairCounter()
            }
        }

        @Test func `an agent that has no memory for a passphrase gets some`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let pid = try #require(scene.agent.agent?.pid)
            let status = try #require(File.text("/proc/\(pid)/status"))
            let size = try #require(
                status.split(separator: "\n").first { $0.hasPrefix("VmSize:") }
                    .flatMap { $0.split(separator: " ").compactMap { Int($0) }.first }
            )
            func limit(_ bytes: String) async throws {
                let result = try await scene.agent.shell(
                    "PATH=/usr/bin:/bin; prlimit --pid \(pid) --as=\(bytes):"
                )
                try #require(result.status == 0, "\(result)")
            }
            let slot = #"{"type":"passphrase","passphrase":"correct horse"}"#
            // Enough for everything else.
            try await limit("\((size + 32_768) * 1024)")
            let refused = try await scene.agent.changeVault("POST", "slots", slot)
            let remedy =
                "ulimit -v, or LimitAS= in the unit, to a higher limit, then run tokenctl shutdown && tokenagent"
            #expect(refused.json?["error"]?.object?["remedy"]?.string == remedy, "\(refused.text)")
            try await limit("unlimited")
            #expect(try await scene.agent.changeVault("POST", "slots", slot).status == 200)
        }
    }

    /// Remedies for an agent that does not start, or not where it is asked for.
    @Suite(.full) struct StartRemedyTests {
        @Test func `a socket that was passed to another process is not this agent's`() async throws {
            let scene = try await Scene()
            let variables = "export LISTEN_FDS=1 LISTEN_PID=1"
            let refused = try await scene.paste("\(variables); tokenagent --foreground")
            let remedy = try #require(PrintedRemedy(refused, holding: "unset LISTEN_FDS"), "\(refused)")
            let started = try await scene.paste(
                """
                \(variables); \(remedy.text); tokenagent --foreground &
                for try in $(seq 300); do tokenctl list 2>/dev/null && break; sleep 0.1; done; tokenagent -k && wait $!
                """
            )
            #expect(started.status == 0, "\(started)")
        }

        @Test func `a wrong option is looked up in the help`() async throws {
            let scene = try await Scene()
            let refused = try await scene.paste("tokenagent --state=\"$HOME/other\"")
            let remedy = try #require(PrintedRemedy(refused, holding: "tokenagent --help"), "\(refused)")
            let help = try await scene.paste(remedy.text)
            #expect(help.status == 0 && help.standardOutput.contains("--state-dir"), "\(help)")
            #expect(try await scene.paste("tokenagent --state-dir=\"$HOME/other\"").status == 0)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        /// Shell in the directory of the state directory, a part of the remedy, and what it says.
        @Test(arguments: [
            ("ln -s nowhere tokenagent", "after replacing the link", "rm tokenagent && tokenagent"),
            (
                "mv tokenagent/vault v && ln -s ../v tokenagent/vault", "after replacing the link",
                "mv v tokenagent/vault && tokenagent"
            ),
            (
                "rm -r tokenagent && touch tokenagent", "--state-dir to a directory of your own",
                "tokenagent --state-dir \"$PWD/own\""
            ),
        ])
        func `a store that is reached by a link, or is no directory, is put right as it is said`(
            spoil: String,
            words: String,
            mend: String
        ) async throws {
            let scene = try await Scene()
            if !spoil.hasPrefix("ln") {
                try await scene.agent.start()
                try await scene.agent.end()
            }
            #expect(try await scene.paste("cd state && \(spoil)").status == 0)
            let refused = try await scene.paste("tokenagent")
            #expect(refused.status != 0 && PrintedRemedy(refused, holding: words) != nil, "\(refused)")
            let mended = try await scene.paste("cd state && \(mend)")
            #expect(mended.status == 0, "\(mended)")
            #expect(try await scene.agent.tokenctl("list").status == 0)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        @Test func `a process that still holds the store is waited for`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            try await scene.agent.end()
            // A process that never sleeps holds the lock, as an agent does that is ending.
            let holder = try Program(
                [
                    "python3", "-c",
                    """
                    import fcntl, os, sys
                    file = open(sys.argv[1], "r+")
                    fcntl.flock(file, fcntl.LOCK_EX)
                    file.truncate(0); file.write(f"{os.getpid()}\\n"); file.flush()
                    print("held", flush=True)
                    while True: pass
                    """,
                    scene.agent.statePath + "/lock",
                ],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            _ = try await holder.outputLine(containing: "held")
            let refused = try await scene.paste("tokenagent --remove-token-files")
            let words = "after process \(holder.pid) has exited"
            #expect(PrintedRemedy(refused, holding: words) != nil, "\(refused)")
            holder.signal(.kill)
            _ = try await holder.finish()
            let after = try await scene.paste("tokenagent --remove-token-files")
            #expect(after.status == 0, "\(after)")
        }

        private static let canMount =
            TestUser.isRoot && Program.succeeds("unshare -m mount -t tmpfs none /run")

        @Test(.enabled(if: canMount, cannotMount))
        func `the agent of a service is started by its unit`() async throws {
            let agent = try AgentUnderTest()
            let unit = try #require(
                File.text(BuiltPrograms.checkout + "/packaging/systemd/tokenagent@.service")
            )
            #expect(unit.contains("RuntimeDirectory=tokenagent/%i"))
            try agent.home.makeDirectory("bin")
            try agent.home.write(
                """
                #!/bin/sh
                [ "$*" = "start tokenagent@build" ] || exit 5
                exec tokenagent -a /run/tokenagent/build/agent.sock

                """,
                to: "bin/systemctl",
                mode: 0o700
            )
            let script = try agent.home.write(
                """
                PATH="$HOME/bin:$PATH"
                mount -t tmpfs none /run && mkdir -p -m 700 /run/tokenagent/build || exit
                export TOKENAGENT_SOCK=/run/tokenagent/build/agent.sock
                command=$(tokenctl list 2>&1 | sed -n 's/^  Run: //p')
                echo "$command"
                $command && tokenctl list && tokenagent -k

                """,
                to: "script"
            )
            let result = try await agent.shell("unshare -m sh '\(script)'")
            #expect(result.status == 0, "\(result)")
            #expect(result.standardOutput.hasPrefix("systemctl start tokenagent@build\n"), "\(result)")
        }

        @Test(.enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs"))
        func `memory is locked once the limit allows it`() async throws {
            func start(_ bytes: Int, _ more: String = "") async throws -> ForeignScene {
                try await ForeignScene(wrapper: ["prlimit", "--memlock=\(bytes):\(bytes)"], more: more)
            }
            let limit = "ulimit -l, or LimitMEMLOCK= in the unit, to a higher limit"
            let required = "[vault]\nrequire_locked_memory = true\n"
            let strict = try await start(0, required)
            let refused = try await strict.program.finish()
            #expect(refused.status == 2, "\(refused)")
            let remedy = limit + ", or vault.require_locked_memory to false"
            #expect(PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            // Either is enough, and the doctor has nothing more to say after the first.
            for (bytes, more, isTold) in [
                (65_536, required, false), (0, required.replacing("true", with: "false"), true),
            ] {
                let scene = try await start(bytes, more)
                let isReady = try await Polling.until { try await scene.shell("tokenctl list").status == 0 }
                #expect(isReady, "\(scene.program.standardError)")
                let doctor = try await scene.shell("tokenctl doctor")
                #expect(
                    (PrintedRemedy(doctor, holding: limit + ", then run") != nil) == isTold,
                    "\(doctor)"
                )
            }
        }
    }
}
