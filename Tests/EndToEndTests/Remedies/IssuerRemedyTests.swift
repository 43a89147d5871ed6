// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for problems with resources and their issuers, followed step by step.
    @Suite(.full) struct IssuerRemedyTests {
        /// A resource that names an issuer, which the test can change, or none.
        private struct Place {
            let scene: Scene
            let home: DemoIssuer
            let other: DemoIssuer
            private let named = Named()
            var address: String { "\(home.issuer)/mcp" }

            init() async throws {
                scene = try await Scene()
                home = try await DemoIssuer.start()
                other = try await DemoIssuer.start()
                home.add(Route(nil, "/mcp") { _ in IssuerResponse(status: 401) })
                home.add(
                    Route("GET", "/.well-known/oauth-protected-resource/mcp") { [named] _ in
                        named.document.map { .json($0) } ?? .notFound
                    }
                )
                // Its own origin is not an authorization server.
                for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
                    home.add(Route("GET", path) { _ in .notFound })
                }
                for issuer in [scene.issuer, other] {
                    issuer.settings.metadata["registration_endpoint"] = .string("\(issuer.issuer)/register")
                    issuer.add(
                        Route("POST", "/register") { _ in
                            .json(
                                ["client_id": "demo-public", "token_endpoint_auth_method": "none"],
                                status: 201
                            )
                        }
                    )
                }
                try await scene.agent.start()
            }

            func names(_ issuer: DemoIssuer, scope: String = "api") {
                let document: JSONValue = [
                    "resource": .string(address), "authorization_servers": [.string(issuer.issuer)],
                    "scopes_supported": [.string(scope)],
                ]
                named.set(document)
            }

            func tokenctl(_ arguments: String...) async throws -> ProgramResult {
                try await scene.agent.tokenctl(arguments)
            }
        }

        /// The metadata of a resource, or `nil` if it publishes none.
        private final class Named: Sendable {
            private let value = Mutex<JSONValue?>(nil)
            var document: JSONValue? { value.withLock(\.self) }
            func set(_ document: JSONValue) { value.withLock { $0 = document } }
        }

        @Test(.holds("196"))
        func `a resource that names no issuer has its tokens from the one that is named for it`()
            async throws
        {
            let place = try await Place()
            let silent = try await place.tokenctl("add", "z", "--url", place.address)
            let remedy = try #require(
                PrintedRemedy(silent, holding: "tokenctl add z --issuer URL"),
                "\(silent)"
            )
            try await place.scene.follow(
                remedy,
                .command(
                    with: ["URL": place.scene.issuer.issuer],
                    more: "--client-id demo-public --flow password"
                )
            )
            try await place.scene.logIn("z")
            #expect(place.scene.issuer.requests(to: "/token").last?.form["resource"] == place.address)
            let headers = try await place.tokenctl("mcp", "headers", "\(place.address)/tools")
            #expect(headers.status == 0 && headers.standardOutput.contains("Bearer "), "\(headers)")
            let again = try await place.scene.paste(
                "tokenctl login '\(place.address)' \(Scene.password.more)",
                input: Scene.password.input
            )
            #expect(again.status == 0 && place.scene.sessionFiles == ["z.toml"], "\(again)")
        }

        @Test func `an address without a session is logged in to as it is said`() async throws {
            let place = try await Place()
            place.names(place.scene.issuer)
            let none = try await place.tokenctl("mcp", "headers", place.address)
            let first = try #require(PrintedRemedy(none, holding: "tokenctl login '"), "\(none)")
            // Without a terminal the login names the issuer to agree to.
            let unasked = try await place.scene.paste(try #require(first.command))
            let second = try #require(PrintedRemedy(unasked, holding: "--issuer '"), "\(unasked)")
            try await place.scene.follow(second, .command())
            #expect(try await place.tokenctl("mcp", "headers", place.address).status == 0)
        }

        @Test(.holds("196"), arguments: [false, true])
        func `a resource that has moved to another issuer is followed as it is said`(
            isWritten: Bool
        ) async throws {
            let place = try await Place()
            place.names(place.scene.issuer)
            if isWritten {
                let login = try await place.tokenctl(
                    "login",
                    place.address,
                    "--issuer",
                    place.scene.issuer.issuer
                )
                #expect(login.status == 0, "\(login)")
            } else {
                let terminal = try ProgramAtTerminal(
                    [BuiltPrograms.client, "login", place.address],
                    environment: place.scene.agent.environment
                )
                try await terminal.type("y", after: "Create a session and log in to this issuer? [y/N] ")
                #expect(try await terminal.shows("Logged in to \"127.0.0.1\""), "\(terminal.screen)")
            }
            let file = place.scene.sessionFile("127.0.0.1")
            #expect(File.text(file)?.contains("\nissuer") == isWritten, "\(File.text(file) ?? "")")
            place.names(place.other)
            let moved = try await place.tokenctl("refresh", "127.0.0.1")
            #expect(moved.status == 2, "\(moved)")
            let remedy = try #require(PrintedRemedy(moved, holding: "tokenctl login 127.0.0.1"), "\(moved)")
            if isWritten {
                let key = "issuer = \"\(place.other.issuer)\""
                #expect(remedy.text.hasPrefix("\(key) if you trust this server"), "\(remedy)")
                #expect(try await place.scene.paste("sed -i 's|^issuer .*|\(key)|' '\(file)'").status == 0)
            }
            // The agent looks at its files at a login, and once a second at most.
            let command = try #require(remedy.command, "\(remedy)")
            #expect(try await Polling.until { try await place.scene.paste(command).status == 0 })
            #expect(try await place.tokenctl("refresh", "127.0.0.1").status == 0)
            #expect(place.other.tokenRequests("refresh_token") == 1)
        }

        @Test func `scopes that make no sense are written into the session, as it is said`() async throws {
            let place = try await Place()
            place.names(place.scene.issuer)
            #expect(try await place.tokenctl("add", "z", "--url", place.address).status == 0)
            place.names(place.scene.issuer, scope: "a \"b\"")
            let line = "tokenctl login z"
            let refused = try await place.scene.paste(line)
            #expect(PrintedRemedy(refused, holding: "scopes of the session") != nil, "\(refused)")
            let file = place.scene.sessionFile("z")
            let written = try await place.scene.paste("echo 'scopes = [\"api\"]' >>'\(file)'")
            #expect(written.status == 0 && File.text(file)?.contains("\nscopes") == true, "\(written)")
            let isLoggedIn = try await Polling.until { try await place.scene.paste(line).status == 0 }
            #expect(isLoggedIn, "\(place.scene.agent.log)")
            let scope = place.scene.issuer.requests(to: "/authorize").last?.query["scope"]
            #expect(scope?.contains("api") == true)
        }

        /// A resource must not change its issuer during a login that the user has agreed to.
        @Test(.holds("196")) func `the issuer of a login is the one that was agreed to`() async throws {
            let place = try await Place()
            place.names(place.scene.issuer)
            #expect(try await place.tokenctl("add", "z", "--url", place.address).status == 0)
            place.names(place.other)
            let refused = try await place.tokenctl(
                "login",
                place.address,
                "--issuer",
                place.scene.issuer.issuer
            )
            #expect(
                refused.status == 2 && refused.standardError.contains("does not accept tokens from"),
                "\(refused)"
            )
            #expect(place.other.requests(to: "/token").isEmpty)
            #expect(
                try await place.tokenctl("login", place.address, "--issuer", place.other.issuer).status == 0
            )
        }
    }
}
