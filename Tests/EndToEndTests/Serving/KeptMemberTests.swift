// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Members of a token response that programs need later, such as the address of a tenant.
    @Suite struct KeptMemberTests {
        /// A server whose token response names an address of its own and one of somebody else.
        private func scene(hosts: String = "hosts = [\"127.0.0.1\"]") async throws -> KindScene {
            let token = Route("POST", "/t") { request in
                let address = "https://\(request.header("host") ?? "")"
                return .json([
                    "access_token": "at-1", "token_type": "Bearer", "expires_in": 600,
                    "instance_url": .string("\(address)/"), "elsewhere": "https://evil.example", "user": 7,
                ])
            }
            let data = Route("GET", "/data") { request in
                IssuerResponse(status: request.header("authorization") == "Bearer at-1" ? 204 : 401)
            }
            return try await KindScene([token, data]) { address in
                """
                kind = "oauth2"
                token_endpoint = "\(address)/t"
                flow = "client_credentials"
                client_id = "cli"
                client_secret = "s"
                keep = ["instance_url", "elsewhere", "user"]
                \(hosts)
                """
            }
        }

        private func curl(_ scene: KindScene, base: String) async throws -> ProgramResult {
            let trust = ["--cacert", scene.agent.home.path("ca.pem")]
            let output = ["-s", "-o", "/dev/null", "-w", "%{http_code}"]
            return try await scene.agent.tokenctl(
                ["curl", "phone", "--base", base, "--"] + output + trust + ["/data"]
            )
        }

        @Test(.holds("271")) func `they are printed with the token, and one is the base of addresses`()
            async throws
        {
            let scene = try await scene()
            let printed = try await scene.get("--format", "json").standardOutput
            let kept = try JSONValue(parsing: printed.utf8).object?["kept"]?.object
            #expect(
                kept?["instance_url"]?.string == scene.issuer.issuer + "/" && kept?["user"]?.string == "7"
            )
            let status = try await scene.agent.status("phone")
            #expect(status["kept"]?.object == kept)
            let bases = status["base_addresses"]?.object
            #expect(bases?.members.map(\.name).sorted() == ["elsewhere", "instance_url"])
            #expect(try await curl(scene, base: "instance_url").standardOutput == "204")
        }

        @Test(.holds("271")) func `the token goes to no address outside of hosts`() async throws {
            let scene = try await scene()
            #expect(try await scene.get().status == 0)
            let elsewhere = try await curl(scene, base: "elsewhere")
            #expect(
                elsewhere.status != 0
                    && elsewhere.standardError.contains("hosts does not include https://evil.example")
            )
            let text = try await curl(scene, base: "user")
            #expect(text.standardError.contains("keeps no address user, only elsewhere, instance_url"))
            let open = try await self.scene(hosts: "")
            #expect(try await open.get().status == 0)
            // Any server may name an address; without hosts, none may get the token.
            let refused = try await curl(open, base: "instance_url")
            #expect(refused.status != 0 && refused.standardError.contains("hosts does not include"))
        }
    }
}
