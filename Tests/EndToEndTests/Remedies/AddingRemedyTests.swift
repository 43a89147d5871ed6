// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies of `tokenctl add`, and of a login at the URL of a resource.
    @Suite(.full) struct AddingRemedyTests {
        private static let client = "--client-id demo-public"
        private static let center = "--issuer https://example.awsapps.com/start"
        private static let workload = "--value project=1 --value pool=p --value provider=q"
        private static let pool = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Pool"

        private static let ofPrompts = [
            CorrectedLine(
                line: "tokenctl add",
                remedy: "Run: tokenctl add NAME",
                followed: "$(echo 'REMEDY' | sed s/NAME/a/) --issuer ISSUER \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add b",
                remedy: "Set: --issuer or --provider",
                followed: "tokenctl add b --issuer ISSUER \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add c --provider keycloack \(client)",
                remedy: "Run: tokenctl providers",
                followed:
                    "REMEDY | grep -q '^keycloak ' && tokenctl add c --provider keycloak --issuer ISSUER \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add h --provider microsoft \(client) --print",
                remedy: "Set: --value tenant=TEXT",
                followed: "tokenctl add h --provider github --value tenant=TEXT \(client) --print"
            ),
            CorrectedLine(
                line: "tokenctl add k --provider signaling",
                remedy: "Set: --value base_url=TEXT",
                followed: "tokenctl add k --provider signaling --value base_url=ISSUER"
            ),
            CorrectedLine(
                line: "tokenctl add l --provider google-workload \(workload)",
                remedy: "Set: --from NAME",
                followed: """
                    tokenctl add root --issuer ISSUER \(client) &&
                    tokenctl add l --provider google-workload \(workload) --from root
                    """
            ),
            CorrectedLine(
                line: "tokenctl add d --preset aws-sso \(center)",
                remedy: "Set: --region",
                followed: "tokenctl add d --preset aws-sso \(center) --region eu-west-1"
            ),
            CorrectedLine(
                line: "tokenctl add e --preset github",
                remedy: "Set: --client-id",
                followed: "tokenctl add e --preset github \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add f --preset cognito --issuer https://id.example.com \(client)",
                remedy: "Set: --issuer to https://cognito-idp.REGION.amazonaws.com/POOL-ID",
                followed: "tokenctl add f --preset cognito --issuer \(pool) \(client)"
            ),
        ]

        private static let ofServers = [
            CorrectedLine(
                line: "tokenctl add g --kind oauth2 --token-endpoint ISSUER/token --flow browser \(client)",
                remedy: "Set: --authorization-endpoint or another --flow",
                followed: """
                    tokenctl add g --kind oauth2 --token-endpoint ISSUER/token --flow browser \(client) \
                    --authorization-endpoint ISSUER/authorize
                    """
            ),
            CorrectedLine(
                line: "tokenctl add h --kind oauth2 --token-endpoint ISSUER/token --flow device \(client)",
                remedy: "Set: --device-authorization-endpoint or another --flow",
                followed:
                    "tokenctl add h --kind oauth2 --token-endpoint ISSUER/token --flow password \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add i --issuer http://127.0.0.1:9 \(client)",
                remedy: "Retry: after checking the URL of the issuer",
                followed: "tokenctl add i --issuer ISSUER \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add j --url http://127.0.0.1:9/mcp",
                remedy: "Retry: after checking the URL of the resource",
                followed: "tokenctl add j --url ISSUER/mcp \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add k --issuer ISSUER/none \(client)",
                remedy: "Set: --issuer to the issuer's URL, or --kind oauth2 with its endpoints",
                followed: "tokenctl add k --issuer ISSUER \(client)"
            ),
            CorrectedLine(
                line: "tokenctl add l --issuer ISSUER \(client) --scope api",
                remedy: "Set: --scope offline_access",
                followed:
                    "tokenctl remove l && tokenctl add l --issuer ISSUER \(client) --scope api --scope offline_access"
            ),
            CorrectedLine(
                line: "tokenctl add m --issuer ISSUER \(client) --flow device",
                remedy: "Set: --flow to browser",
                followed: "tokenctl add m --issuer ISSUER \(client) --flow browser"
            ),
        ]

        @Test(.holds("190"), arguments: [ofPrompts, ofServers])
        func `a session is added as it is said`(rows: [CorrectedLine]) async throws {
            let scene = try await Scene({ $0.metadata["device_authorization_endpoint"] = .null })
            scene.issuer.add(Route(nil, "/mcp") { _ in IssuerResponse(status: 401) })
            let document: JSONValue = [
                "resource": .string("\(scene.issuer.issuer)/mcp"),
                "authorization_servers": [.string(scene.issuer.issuer)],
            ]
            scene.issuer.add(
                Route("GET", "/.well-known/oauth-protected-resource/mcp") { _ in .json(document) }
            )
            try await scene.agent.start()
            try await scene.follow(rows)
        }

        @Test func `a refresh token is imported where a server has no login, as it is said`() async throws {
            let scene = try await Scene({
                for name in ["device_authorization_endpoint", "authorization_endpoint"] {
                    $0.metadata[name] = .null
                }
                $0.metadata["grant_types_supported"] = ["refresh_token"]
            })
            try await scene.agent.start()
            let add = "tokenctl add z --issuer ISSUER \(Self.client)"
            try await scene.follow([
                CorrectedLine(
                    line: add,
                    remedy: "Set: --flow to import, for an existing refresh token",
                    followed: "\(add) --flow import"
                )
            ])
        }

        @Test func `a resource whose server registers no client is added as it is said`() async throws {
            let place = try await ResourceScene()
            place.scene.issuer.settings.metadata["registration_endpoint"] = .null
            try await place.scene.follow(
                [
                    CorrectedLine(
                        line: "tokenctl login ADDRESS",
                        remedy: "Run: tokenctl add 127.0.0.1 --url 'ADDRESS' --client-id ID",
                        followed: """
                            eval "$(echo "REMEDY" | sed s/ID/demo-public/)" && tokenctl login ADDRESS && tokenctl get 127.0.0.1
                            """
                    )
                ],
                ["ADDRESS": place.address]
            )
        }

        @Test func `a resource of an unknown authority is added as it is said`() async throws {
            let authority = try CertificateAuthority()
            let place = try await ResourceScene(options: { $0.tls = try authority.issue() })
            let file = try place.scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            try await place.scene.follow(
                [
                    CorrectedLine(
                        line: "tokenctl login ADDRESS",
                        remedy: "Run: tokenctl add 127.0.0.1 --url 'ADDRESS' --ca-file FILE",
                        followed: """
                            eval "$(echo "REMEDY" | sed s,FILE,\(file),)" && tokenctl login ADDRESS && tokenctl get 127.0.0.1
                            """
                    )
                ],
                ["ADDRESS": place.address]
            )
        }

        @Test func `the issuer of a resource's session is changed as it is said`() async throws {
            let second = try await ResourceScene()
            let first = try await ResourceScene()
            let issuers: JSONValue = [.string(first.issuer), .string(second.issuer)]
            let place = try await ResourceScene(["authorization_servers": issuers])
            try await place.scene.follow(
                [
                    CorrectedLine(
                        line:
                            "tokenctl login ADDRESS --issuer FIRST && tokenctl login ADDRESS --issuer SECOND",
                        remedy:
                            "Set: issuer = \"SECOND\" in [session.127.0.0.1], then run tokenctl login 127.0.0.1",
                        followed: """
                            sed -i 's,FIRST,SECOND,' config/tokenagent/sessions.d/127.0.0.1.toml
                            # The agent looks at its files once a second at most.
                            for try in $(seq 100); do
                                REMEDY && tokenctl login ADDRESS --issuer SECOND 2>/dev/null && exit
                            done
                            exit 1
                            """
                    )
                ],
                ["ADDRESS": place.address, "FIRST": first.issuer, "SECOND": second.issuer]
            )
        }

        @Test func `a session gets a name of its own where all others are in use`() async throws {
            let place = try await ResourceScene()
            for number in 1..<100 {
                let name = number == 1 ? "127.0.0.1" : "127.0.0.1-\(number)"
                try place.scene.writeSession(
                    name,
                    "[session.\"\(name)\"]\nkind = \"command\"\ncommand = [\"true\"]\n"
                )
            }
            try await place.scene.follow(
                [
                    CorrectedLine(
                        line: "tokenctl login ADDRESS",
                        remedy: "Run: tokenctl add NAME --url 'ADDRESS'",
                        followed: """
                            eval "$(echo "REMEDY" | sed s/NAME/own/)" && tokenctl login ADDRESS --issuer SERVER
                            """
                    )
                ],
                ["ADDRESS": place.address, "SERVER": place.issuer]
            )
        }

        @Test func `a session is removed once no table names it, as it is said`() async throws {
            let scene = try await Scene()
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            let socket = "[[socket]]\npath = \"\(scene.agent.home.path("run/x.sock"))\"\nsessions = [\"z\"]\n"
            try scene.agent.configure(text + socket)
            try await scene.agent.start()
            try await scene.follow([
                CorrectedLine(
                    line: "tokenctl remove z",
                    remedy: "Retry: after removing z from [[socket]] ",
                    followed: "sed -i '/^.*socket/,$d' config/tokenagent/config.toml && tokenctl remove z"
                )
            ])
        }

        @Test func `a session is removed once the server can be asked, as it is said`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add("z").status == 0)
            try await scene.logIn("z")
            scene.issuer.queue(Disturbance(reply: IssuerResponse(status: 503)), for: "/revoke", times: 2)
            let stays = try await scene.agent.tokenctl("remove", "z")
            #expect(PrintedRemedy(stays, holding: "in a few minutes")?.label == "retry", "\(stays)")
            let goes = try await Polling.until {
                try await scene.agent.tokenctl("remove", "z").status == 0
            }
            #expect(goes && scene.sessionFiles.isEmpty, "\(scene.agent.log)")
        }

        @Test func `what nobody can be asked for is typed at a terminal, as it is said`() async throws {
            var user = CognitoDouble.User(name: "alice", password: "alice-password")
            user.code = "123456"
            let double = try CognitoDouble(clients: [CognitoDouble.Client(id: "cli")], users: [user])
            let scene = try await KindScene.cognito(double)
            let login = ["login", "phone", "--username", "alice"]
            let refused = try await scene.agent.tokenctl(
                login + ["--password-stdin"],
                input: "alice-password\n"
            )
            #expect(PrintedRemedy(refused, holding: "in a terminal")?.label == "retry", "\(refused)")
            let terminal = try ProgramAtTerminal(
                [BuiltPrograms.client] + login,
                environment: scene.agent.environment
            )
            try await terminal.type("alice-password", after: "Password of alice: ")
            try await terminal.type("123456", after: "Code from the authenticator app: ")
            #expect(try await terminal.shows("Logged in to \"phone\""), "\(terminal.screen)")
        }
    }
}
