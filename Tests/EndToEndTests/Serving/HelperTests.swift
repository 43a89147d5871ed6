// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Other programs get their credentials from the agent, in their own words.
    @Suite struct HelperTests {
        private static func has(_ program: String) -> Bool { Program.succeeds("command -v \(program)") }

        /// A logged-in session for the issuer's own host, with the links of the helpers in `PATH`.
        private func scene(_ names: String..., tls: Bool = false) async throws -> Scene {
            let authority = try CertificateAuthority()
            let scene = try await Scene(
                options: { options in if tls { options.tls = try authority.issue() } },
                session: "hosts = [\"127.0.0.1\"]\n" + (tls ? "ca_file = \"CA_FILE\"" : "")
            )
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("CA_FILE", with: file))
            // These are what the tests are about; others are not seen.
            _ = try ToolDirectory.including(["docker", "kubectl"], in: scene.agent.home)
            try scene.agent.home.makeDirectory("links")
            for name in names {
                try File.link(scene.agent.home.path("links/\(name)"), to: BuiltPrograms.client)
            }
            try await scene.agent.start()
            try await scene.logIn()
            return scene
        }

        /// Runs a line of shell in which the links are found.
        private func shell(_ script: String, in scene: Scene) async throws -> ProgramResult {
            let quiet = "GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1"
            return try await scene.agent.shell(
                "export PATH='\(scene.agent.home.path("links")):\(scene.agent.home.path("clients"))':\"$PATH\" \(quiet); \(script)"
            )
        }

        /// An empty repository that is served to requests with `token`.
        private func addRepository(to scene: Scene, accepting token: @escaping @Sendable () -> String?) {
            let advertisement = "001e# service=git-upload-pack\n00000000"
            scene.issuer.add(
                Route("GET", "/repository.git/info/refs") { request in
                    guard let wanted = token(), request.basicCredentials == "oauth2:\(wanted)" else {
                        return IssuerResponse(
                            status: 401,
                            headers: [("WWW-Authenticate", #"Basic realm="git""#)]
                        )
                    }
                    return IssuerResponse(
                        headers: [("Content-Type", "application/x-git-upload-pack-advertisement")],
                        body: Array(advertisement.utf8)
                    )
                }
            )
        }

        @Test func `a user name cannot add a line to an answer`() async throws {
            let scene = try await scene()
            let name = "x\npassword=other"
            let git = try await scene.agent.tokenctl(
                "git-credential",
                "--session",
                "work",
                "--username",
                name,
                "get",
                input: "protocol=http\nhost=127.0.0.1\n\n"
            )
            #expect(git.standardOutput == "quit=1\n", "\(git)")
            #expect(git.standardError.contains("control character"), "\(git)")
            let keyring = try await scene.agent.tokenctl(
                "keyring",
                "--session",
                "work",
                "--mode",
                "creds",
                "get",
                scene.issuer.issuer,
                name
            )
            #expect(keyring.status != 0 && keyring.standardOutput.isEmpty, "\(keyring)")
        }

        @Test(
            .enabled(if: has("git"), "git is not installed"),
            arguments: [
                "tokenagent", "!tokenctl git-credential --session work", "!tokenctl git-credential",
            ]
        )
        func `git fetches with the agent's token`(helper: String) async throws {
            let scene = try await scene("git-credential-tokenagent")
            let wanted = try await scene.token()
            addRepository(to: scene) { wanted }
            let url = scene.issuer.issuer + "/repository.git"
            let result = try await shell("git -c credential.helper='\(helper)' ls-remote \(url)", in: scene)
            #expect(result.status == 0, "\(result.standardError)")
            #expect(scene.issuer.requests(to: "/repository.git/info/refs").count == 2)
        }

        @Test(.enabled(if: has("git"), "git is not installed"))
        func `a token that the server refused is another one at the next fetch`() async throws {
            let scene = try await scene("git-credential-tokenagent")
            let old = try await scene.token()
            // The server has its own idea of which tokens live.
            scene.issuer.forgetAccessTokens()
            addRepository(to: scene) { nil }
            let url = scene.issuer.issuer + "/repository.git"
            let command = "git -c credential.helper=tokenagent ls-remote \(url)"
            #expect(try await shell(command, in: scene).status != 0)
            #expect(scene.refreshes == 1)
            let new = try await scene.token()
            #expect(new != old)
            addRepository(to: scene) { new }
            let result = try await shell(command, in: scene)
            #expect(result.status == 0, "\(result.standardError)")
        }

        @Test(.enabled(if: has("git"), "git is not installed"))
        func `git does not ask for a password when a login is needed, and says what to do`() async throws {
            let scene = try await scene("git-credential-tokenagent")
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            addRepository(to: scene) { nil }
            let url = scene.issuer.issuer + "/repository.git"
            let result = try await shell(
                "GIT_ASKPASS='\(scene.agent.home.path("asked"))' git -c credential.helper=tokenagent ls-remote \(url)",
                in: scene
            )
            #expect(result.status != 0)
            #expect(result.standardError.contains("tokenctl login work"), "\(result.standardError)")
            #expect(!result.standardError.contains("asked"), "\(result.standardError)")
        }

        /// The path of a `[[socket]]` for the session, which can be reached.
        private func restrictedSocket(of scene: Scene) async throws -> String {
            let path = scene.agent.home.path("run/tokenagent/work.sock")
            let plain = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(plain + "\n[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n")
            scene.agent.agent?.signal(.hangUp)
            #expect(try await Polling.until { SocketOwner.pid(path) != nil })
            return path
        }

        @Test func `the doctor at a restricted socket has nothing to complain of`() async throws {
            let scene = try await scene()
            let path = try await restrictedSocket(of: scene)
            let result = try await shell("TOKENAGENT_SOCK='\(path)' tokenctl doctor", in: scene)
            #expect(
                result.status == 0 && result.standardOutput.contains("not allowed at this restricted socket"),
                "\(result)"
            )
            #expect(!result.standardOutput.contains("process"), "\(result)")
        }

        @Test(.enabled(if: has("git"), "git is not installed"))
        func `git fetches through a restricted socket, and gets another token when one was refused`()
            async throws
        {
            let scene = try await scene("git-credential-tokenagent")
            let path = try await restrictedSocket(of: scene)
            let old = try await scene.token()
            addRepository(to: scene) { old }
            let url = scene.issuer.issuer + "/repository.git"
            let fetch =
                "export TOKENAGENT_SOCK='\(path)'; git -c credential.helper=tokenagent ls-remote \(url)"
            let first = try await shell(fetch, in: scene)
            #expect(first.status == 0, "\(first.standardError)")
            addRepository(to: scene) { nil }
            #expect(try await shell(fetch, in: scene).status != 0)
            #expect(scene.refreshes == 1)
            let new = try await scene.token()
            #expect(new != old)
            addRepository(to: scene) { new }
            let last = try await shell(fetch, in: scene)
            #expect(last.status == 0, "\(last.standardError)")
        }

        @Test(arguments: [
            ("tokenctl kube-credential work", "tokenctl kube-credential work"),
            ("tokenctl keyring get https://127.0.0.1/ me", "tokenctl keyring get https://127.0.0.1/ me"),
            ("true", "echo 127.0.0.1 | tokenctl docker-credential erase"),
        ])
        func `a sign of a refusal brings another token at a restricted socket too`(
            first: String,
            second: String
        ) async throws {
            let scene = try await scene()
            let path = try await restrictedSocket(of: scene)
            let old = try await scene.token()
            let script = "export TOKENAGENT_SOCK='\(path)'; \(first); \(second); \(first); \(second)"
            let result = try await shell(script, in: scene)
            #expect(result.standardError.isEmpty)
            #expect(scene.refreshes == 1)
            #expect(try await scene.token() != old)
        }

        @Test(.enabled(if: has("kubectl"), "kubectl is not installed"))
        func `kubectl asks with the agent's token`() async throws {
            let scene = try await scene(tls: true)
            let file = try scene.agent.home.write(
                """
                apiVersion: v1
                kind: Config
                current-context: c
                contexts: [{name: c, context: {cluster: c, user: u}}]
                clusters: [{name: c, cluster: {server: "\(scene.issuer.issuer)", certificate-authority: "\(scene.agent.home.path("ca.pem"))"}}]
                users:
                - name: u
                  user:
                    exec:
                      apiVersion: client.authentication.k8s.io/v1
                      interactiveMode: Never
                      provideClusterInfo: true
                      command: tokenctl
                      args: [kube-credential]

                """,
                to: "kubeconfig"
            )
            let result = try await shell("kubectl --kubeconfig='\(file)' get --raw /resource", in: scene)
            #expect(result.status == 0, "\(result.standardError)")
            #expect(result.standardOutput.contains(#""hello":"alice""#))
            #expect(scene.issuer.requests(to: "/resource").first?.bearerToken == (try await scene.token()))
        }

        @Test(.enabled(if: has("docker"), "docker is not installed"))
        func `docker logs in to a registry with the agent's token`() async throws {
            let scene = try await scene("docker-credential-tokenagent", tls: true)
            let wanted = try await scene.token()
            let manifest: JSONValue = [
                "schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                "config": [
                    "mediaType": "application/vnd.docker.container.image.v1+json", "size": 2,
                    "digest": .string("sha256:" + String(repeating: "0", count: 64)),
                ],
                "layers": [],
            ]
            for path in ["/v2/", "/v2/app/manifests/latest"] {
                scene.issuer.add(
                    Route("GET", path) { request in
                        guard request.basicCredentials == "oauth2:\(wanted)" else {
                            return IssuerResponse(
                                status: 401,
                                headers: [("WWW-Authenticate", #"Basic realm="registry""#)]
                            )
                        }
                        return IssuerResponse(
                            headers: [
                                ("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
                            ],
                            body: manifest.serialized
                        )
                    }
                )
            }
            let place = "127.0.0.1:\(scene.issuer.port)"
            try scene.agent.home.makeDirectory("docker")
            try scene.agent.home.write(
                #"{"credHelpers":{"\#(place)":"tokenagent"}}"#,
                to: "docker/config.json"
            )
            let result = try await shell(
                "DOCKER_CONFIG='\(scene.agent.home.path("docker"))' docker manifest inspect --insecure \(place)/app:latest",
                in: scene
            )
            let sent = scene.issuer.requests().filter { $0.path.hasPrefix("/v2/") }
            #expect(sent.contains { $0.basicCredentials == "oauth2:\(wanted)" }, "\(result)")
            #expect(!sent.contains { $0.header("authorization")?.hasPrefix("Bearer") == true })
        }
    }
}
