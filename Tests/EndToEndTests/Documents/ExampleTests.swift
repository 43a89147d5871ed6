// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Every example of README and man pages does what its reader expects.
    @Suite struct ExampleTests {
        private static func treatments(of example: DocumentedExample) -> [ExampleTreatment] {
            let found = ExampleTreatment.all.filter { example.text.hasPrefix($0.start) }
            // The longest beginning is the one that is meant.
            return found.max { $0.start.count < $1.start.count }.map { [$0] } ?? []
        }

        @Test(.holds("162")) func `every example is tried, and nothing is tried that is no example`() {
            for example in DocumentedExample.all {
                #expect(
                    !Self.treatments(of: example).isEmpty,
                    "\(example.place) has no treatment: \(example.text)"
                )
            }
            let used = DocumentedExample.all.flatMap { Self.treatments(of: $0).map(\.start) }
            for treatment in ExampleTreatment.all {
                #expect(used.contains(treatment.start), "no example begins with \(treatment.start)")
            }
            #expect(DocumentedExample.all.count > 35)
        }

        @Test(.holds("162"), arguments: DocumentedExample.tried)
        func `an example works`(example: DocumentedExample) async throws {
            let treatment = try #require(Self.treatments(of: example).first)
            if case .configuration = treatment.kind { return try await check(example.text) }
            let stage = try await Stage(ownAgent: example.text.contains("tokenagent)\""))
            let script: String
            switch treatment.kind {
            case .runs, .configuration: script = example.commands
            case .runsWith(let programs, _):
                for (name, text) in programs { try stage.add(name, text) }
                script = example.commands
            case .isReadBy(let text, _): script = text
            }
            let result = try await stage.run(script, about: example)
            #expect(result.status == 0, "\(result)\n\(script)")
            #expect(result.standardError.isEmpty, "\(result)")
            for text in treatment.shows {
                let wanted = text.replacing("TOKEN", with: stage.token).replacing(
                    "MAIL",
                    with: stage.mailToken
                )
                #expect(result.standardOutput.contains(wanted), "\(result)")
            }
        }

        /// Has the agent check a piece of configuration.
        private func check(_ text: String) async throws {
            let agent = try AgentUnderTest(configuration: text + "\n")
            let result = try await agent.shell("tokenagent --check-config")
            #expect(result.status == 0, "\(result)")
        }
    }

    /// A home in which examples run: the sessions `work` and `mail` logged in, `ci` as yet without a login.
    private struct Stage {
        let scene: Scene
        let token: String
        let mailToken: String

        /// With `ownAgent` the example starts the agent itself.
        init(ownAgent: Bool) async throws {
            scene = try await Scene(
                { $0.accessLifetime = .seconds(3600) },
                session: #"hosts = ["127.0.0.1", "git.example.com"]"#,
                flow: "browser"
            )
            let ci = Scene.session(
                "ci",
                scene.issuer,
                flow: "client_credentials",
                client: "demo-confidential",
                more: "client_secret = \"demo-secret-7f3a\""
            )
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + Scene.session("mail", scene.issuer) + ci)
            try scene.agent.home.makeDirectory("links")
            // Without these options, curl shows its progress at a terminal.
            try scene.agent.home.write("silent\nshow-error\n", to: ".curlrc")
            let names = [
                "git-credential-tokenagent", "docker-credential-tokenagent", "bazel-credential-tokenagent",
                "terraform-credentials-tokenagent", "keyring",
            ]
            for name in names {
                try File.link(scene.agent.home.path("links/\(name)"), to: BuiltPrograms.client)
            }
            guard !ownAgent else {
                (token, mailToken) = ("none", "none")
                return
            }
            try await scene.agent.start()
            try await scene.logIn()
            try await scene.logIn("mail")
            token = try await scene.token()
            mailToken = try await scene.agent.tokenctl("get", "mail").line
        }

        /// Puts a program before all others.
        func add(_ name: String, _ script: String) throws {
            try scene.agent.home.makeDirectory("stand-ins")
            try scene.agent.home.write("#!/bin/sh\n\(script)\n", to: "stand-ins/\(name)", mode: 0o700)
        }

        /// Runs a script with the issuer as server and API of the examples, and with a user who approves logins.
        func run(_ script: String, about example: DocumentedExample) async throws -> ProgramResult {
            let home = scene.agent.home
            let api = scene.issuer.issuer + "/resource"
            var environment = scene.agent.environment
            let path = environment["PATH"] ?? ""
            environment["PATH"] = "\(home.path("stand-ins")):\(home.path("links")):\(path)"
            environment["LINKS"] = home.path("links")
            environment["CHECKOUT"] = BuiltPrograms.checkout
            environment["API"] = api
            environment["EXAMPLE"] = example.text
            environment["TOKENAGENT_SOCK"] = token == "none" ? nil : scene.agent.socketPath
            environment["token"] = token
            let text =
                "set -e\n"
                + script.replacing("https://api.example.com/me", with: api)
                .replacing(
                    "https://id.example.com --client-id cli",
                    with: "\(scene.issuer.issuer) --client-id demo-public"
                )
            let program = try Program(
                ["/bin/sh", "-c", text],
                environment: environment,
                directory: home.path,
                hasTerminal: false
            )
            var approved: Set<String> = []
            _ = try await Polling.until(within: .seconds(60)) {
                for word in program.standardOutput.split(whereSeparator: { " .\n=".contains($0) }).map(
                    String.init
                )
                where approved.insert(word).inserted {
                    _ = scene.issuer.decideDevice(userCode: word)
                }
                return program.exitStatus != nil
            }
            return try await program.finish()
        }
    }
}
