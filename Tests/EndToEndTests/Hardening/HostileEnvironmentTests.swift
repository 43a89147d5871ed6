// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct HostileEnvironmentTests {
        @Test(.holds("138")) func `no keys of connections are logged`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(
                options: { $0.tls = try authority.issue() },
                session: "ca_file = \"CA_FILE\""
            )
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("CA_FILE", with: file))
            let log = scene.agent.statePath + "/keys"
            try await scene.agent.start(extraEnvironment: ["SSLKEYLOGFILE": log])
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(!File.exists(log))
        }

        @Test(
            .holds("138"),
            arguments: [
                ["MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1"],
                ["GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=90"],
                ["LD_PRELOAD": "/nonexistent/library.so"], ["PATH": "."], ["PATH": ""],
                ["TZ": "/etc/passwd", "LANG": "../../nonsense", "LC_ALL": "nonsense"],
                ["RES_OPTIONS": "debug", "HOSTALIASES": "/dev/zero", "LOCALDOMAIN": "example.com"],
                ["HTTPS_PROXY": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "x"],
                ["SSL_CERT_FILE": "/dev/null", "SSL_CERT_DIR": "/nonexistent"],
                ["XDG_DATA_HOME": "relative", "TMPDIR": "relative", "IFS": "/"],
            ]
        )
        func `a hostile environment changes nothing`(variables: [String: String]) async throws {
            let scene = try await Scene()
            try await scene.agent.start(extraEnvironment: variables)
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let token = try await scene.token()
            #expect(try await scene.isAccepted(token))
            // The client as well.
            let get = try await scene.agent.tokenctl("get", "work", extraEnvironment: variables)
            #expect(get.status == 0 && get.standardOutput == token + "\n", "\(get)")
        }

        @Test(.holds("138")) func `without a home and with a relative runtime directory the state is used`()
            async throws
        {
            let scene = try await Scene()
            var environment = scene.agent.environment
            environment["HOME"] = nil
            environment["XDG_RUNTIME_DIR"] = "relative"
            let agent = try Program([BuiltPrograms.agent, "--foreground"], environment: environment)
            let socket = ConnectedAgentSocket(path: scene.agent.statePath + "/run/agent.sock")
            let answers = try await Polling.until {
                try #require(agent.exitStatus == nil, "\(agent.standardError)")
                return (try? await socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
            }
            #expect(answers)
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }

        /// A library that would be loaded from the working directory, and a program found there.
        @Test(.holds("138")) func `nothing of the working directory is loaded or run`() async throws {
            let scene = try await Scene(more: "[hooks]\nevent = [\"true\"]")
            let place = try TemporaryDirectory()
            let ran = place.path("ran")
            for name in ["tokenagent-runner", "tokenagent", "tokenctl", "sh", "curl"] {
                try place.write("#!/bin/sh\necho \(name) >>'\(ran)'\nexit 1\n", to: name, mode: 0o700)
            }
            let variables = ["PATH": ".:" + (scene.agent.environment["PATH"] ?? ""), "LD_LIBRARY_PATH": "."]
            let agent = try Program(
                [BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment.merging(variables) { $1 },
                directory: place.path
            )
            let answers = try await Polling.until {
                try #require(agent.exitStatus == nil, "\(agent.standardError)")
                return (try? await scene.agent.socket.request("GET", "/v1", within: .seconds(5)))?.status
                    == 200
            }
            #expect(answers)
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(!File.exists(ran), "\(File.text(ran) ?? "")")
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }

        @Test(.holds("138")) func `without any place for its state the agent says so`() async throws {
            let result = try await Program.run(
                [BuiltPrograms.agent, "--foreground"],
                environment: ["PATH": "/usr/bin:/bin"],
                directory: "/"
            )
            #expect(result.status != 0)
            #expect(result.complainsInOneLine, "\(result.standardError)")
        }

        @Test(
            .holds("138"),
            .enabled(
                if: TestUser.isRoot,
                "only root can read the descriptors of a process that refuses inspection"
            )
        )
        func `closed standard descriptors are filled before a file could take their place`()
            async throws
        {
            let scene = try await Scene()
            let agent = try Program(
                ["/bin/sh", "-c", "exec tokenagent --foreground <&- >&- 2>&-"],
                environment: scene.agent.environment
            )
            let answers = try await Polling.until {
                (try? await scene.agent.socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
            }
            #expect(answers)
            for descriptor in 0...2 {
                #expect(File.linkTarget("/proc/\(agent.pid)/fd/\(descriptor)") == "/dev/null")
            }
            try await scene.logIn()
            #expect(try await scene.token().isEmpty == false)
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }
    }
}
