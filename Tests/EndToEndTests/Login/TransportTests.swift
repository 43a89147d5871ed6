// SPDX-License-Identifier: MIT

import DemoIssuer
import NIOSSL
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct TransportTests {
        /// A scene over TLS whose agent trusts `authority` through `ca_file`.
        private func scene(
            _ authority: CertificateAuthority,
            _ change: (inout DemoIssuer.Options) throws -> Void = { _ in },
            more: String = ""
        ) async throws -> Scene {
            let scene = try await Scene(
                options: { options in
                    options.tls = try authority.issue()
                    try change(&options)
                },
                session: "ca_file = \"CA_FILE\"\n\(more)"
            )
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("CA_FILE", with: file))
            try await scene.agent.start()
            return scene
        }

        private func login(_ scene: Scene) async throws -> ProgramResult {
            try await scene.agent.tokenctl(
                "login",
                "work",
                "--username",
                "alice",
                "--password-stdin",
                input: "alice-password\n"
            )
        }

        @Test(.holds("83")) func `a private authority is trusted when it is named`() async throws {
            let scene = try await scene(CertificateAuthority())
            let result = try await login(scene)
            #expect(result.status == 0, "\(result.standardError)")
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test(.holds("79", "82", "O14")) func `a server nobody vouches for gets no request`() async throws {
            let stranger = try CertificateAuthority(name: "stranger")
            let scene = try await scene(CertificateAuthority()) { $0.tls = try stranger.issue() }
            let result = try await login(scene)
            #expect(result.status == 2, "\(result)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("ca_file"), "\(result.standardError)")
            #expect(scene.issuer.requests().isEmpty)
        }

        @Test(.holds("82")) func `at a server of an unknown authority a login is 2 and names ca_file`()
            async throws
        {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            try await scene.agent.start()
            let result = try await login(scene)
            let server = scene.issuer.issuer.dropFirst("https://".count)
            #expect(result.standardError.hasPrefix("tokenctl: work: \(server): "), "\(result)")
            let remedy = "ca_file to the certificate of the server's CA"
            #expect(result.standardError.hasSuffix("  Set: \(remedy)\n"), "\(result)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.status == 2)
            let json = try await scene.agent.tokenctl(
                "login",
                "work",
                "--json",
                "--username",
                "alice",
                "--password-stdin",
                input: "alice-password\n"
            )
            let last = try #require(json.standardOutput.split(separator: "\n").last)
            let error = try JSONValue(parsing: last.utf8).object?["error"]?.object
            #expect(error?["code"] == "misconfigured", "\(json)")
            #expect(error?["remedy"]?.string == remedy, "\(json)")
            #expect(json.status == 2)
            #expect(scene.issuer.requests().isEmpty)
        }

        @Test(
            .holds("82"),
            arguments: [
                (
                    false,
                    "(set: ca_file in [session.work] to the server's certificate authority, then run tokenctl reload)"
                ),
                (true, "(set: ca_file or pins in [session.work], then run tokenctl reload)"),
            ]
        )
        func `the doctor says what ca_file is for at a server of an unknown authority`(
            isAnotherNamed: Bool,
            remedy: String
        ) async throws {
            let stranger = try CertificateAuthority(name: "stranger")
            let scene =
                if isAnotherNamed {
                    try await scene(CertificateAuthority()) { $0.tls = try stranger.issue() }
                } else {
                    try await Scene(options: { $0.tls = try stranger.issue() })
                }
            if !isAnotherNamed { try await scene.agent.start() }
            let doctor = try await scene.agent.tokenctl("doctor")
            let lines = doctor.standardOutput.split(separator: "\n")
            let line = lines.first { $0.hasPrefix("problem  server \(scene.issuer.issuer): ") }
            #expect(line?.hasSuffix(remedy) == true, "\(doctor)")
            #expect(doctor.status == 1)
            #expect(scene.issuer.requests().isEmpty)
            let named = try scene.agent.home.write(stranger.certificatePEM, to: "stranger.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            let others = text.split(separator: "\n").filter { !$0.hasPrefix("ca_file") }
            try scene.agent.configure(others.joined(separator: "\n") + "\nca_file = \"\(named)\"\n")
            // The sandbox has only the files that were named at the start.
            let reload = try await scene.agent.tokenctl("reload")
            #expect(PrintedRemedy(reload, holding: "tokenctl shutdown") != nil, "\(reload)")
            try await scene.agent.end()
            try await scene.agent.start()
            let after = try await scene.agent.tokenctl("doctor").standardOutput
            #expect(after.contains("ok       server \(scene.issuer.issuer): "), "\(after)")
        }

        @Test(.holds("82", "O14")) func `an expired, a future, and another host's certificate are refused`()
            async throws
        {
            let authority = try CertificateAuthority()
            let year = Duration.seconds(365 * 86_400)
            let identities = [
                try authority.issue(validity: .zero - year * 2...(.zero - year)),
                try authority.issue(validity: year...year * 2),
                try authority.issue(for: ["other.example"]),
            ]
            for identity in identities {
                let scene = try await scene(authority) { $0.tls = identity }
                #expect(try await login(scene).status == 2)
                #expect(scene.issuer.requests().isEmpty)
            }
        }

        @Test(.holds("82")) func `an outdated protocol version is refused`() async throws {
            let scene = try await scene(CertificateAuthority()) { $0.maximumTLSVersion = .tlsv11 }
            #expect(try await login(scene).status == 2)
            #expect(scene.issuer.requests().isEmpty)
        }

        @Test(.holds("83")) func `a pin lets exactly its key through`() async throws {
            let authority = try CertificateAuthority()
            let identity = try authority.issue()
            let pin = try #require(identity.publicKeyHash)
            let right = try await scene(authority, { $0.tls = identity }, more: "pins = [\"sha256/\(pin)\"]")
            #expect(try await login(right).status == 0)
            let wrong = try await scene(
                authority,
                more: "pins = [\"sha256/\(pin)\"]"
            )
            #expect(try await login(wrong).status == 2)
            #expect(wrong.issuer.requests().isEmpty)
        }

        @Test(.holds("74")) func `an endless answer is cut off and the session stays`() async throws {
            let scene = try await Scene.loggedIn(more: "[agent]\nget_timeout = \"3s\"")
            // What any refresh needs is there then.
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let token = try await scene.token()
            let huge = IssuerResponse(
                status: 200,
                headers: [("Content-Type", "application/json")],
                body: Array(repeating: UInt8(ascii: " "), count: 2 << 20)
            )
            let pid = try #require(scene.agent.agent?.pid)
            let before = try memory(of: pid)
            // The most it had is counted from here on (proc(5)).
            _ = Program.succeeds("echo 5 >/proc/\(pid)/clear_refs")
            scene.issuer.queue(huge, times: 10)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 5)
            #expect(try await scene.token() == token)
            let most = try memory(of: pid, "VmHWM:")
            if TestUser.isRoot { #expect(most - before <= Self.growth) }
            Attachment.record("\(most - before) KiB more at the most", named: "figure")
            scene.issuer.clearQueue()
            #expect(try await scene.refreshesAgain())
        }

        /// Of the agent, in KiB, over answers of 2 MiB of which it reads half.
        private static let growth = 4_096

        private func memory(of process: Int32, _ name: String = "VmRSS:") throws -> Int {
            let status = try #require(File.text("/proc/\(process)/status"))
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            return try #require(line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first)
        }

        @Test(.holds("88")) func `a proxy of the environment is not used for this machine`() async throws {
            let scene = try await Scene()
            let proxy = try await DemoIssuer.start()
            let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
            let variables = Dictionary(uniqueKeysWithValues: names.map { ($0, proxy.issuer) })
            try await scene.agent.start(extraEnvironment: variables)
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(scene.refreshes == 1)
            #expect(proxy.acceptedConnections == 0)
        }

        @Test(.holds("105", "O25")) func `secrets go to their own issuer only`() async throws {
            let scene = try await Scene()
            let other = try await DemoIssuer.start()
            try scene.agent.configure(Scene.session("work", scene.issuer) + Scene.session("home", other))
            try await scene.agent.start()
            try await scene.logIn("work")
            try await scene.logIn("home")
            for name in ["work", "home", "work"] { _ = try await scene.agent.tokenctl("refresh", name) }
            _ = try await scene.agent.tokenctl("logout", "--all")
            let mine = Set(
                scene.issuer.requests().compactMap { $0.form["refresh_token"] ?? $0.form["token"] }
            )
            let theirs = Set(other.requests().compactMap { $0.form["refresh_token"] ?? $0.form["token"] })
            #expect(!mine.isEmpty && !theirs.isEmpty)
            #expect(mine.isDisjoint(with: theirs))
        }
    }
}
