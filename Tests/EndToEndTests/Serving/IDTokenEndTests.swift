// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// An ID token ends by itself, and nobody gets one that has.
    @Suite struct IDTokenEndTests {
        /// Access tokens of an hour, and ID tokens that end `seconds` from now.
        private func scene(_ seconds: Int64) async throws -> (Scene, end: Int64) {
            let end = WallClock.seconds + seconds
            let scene = try await Scene.loggedIn { settings in
                settings.accessLifetime = .seconds(3_600)
                settings.idTokenClaims["exp"] = .integer(end)
            }
            return (scene, end)
        }

        @Test func `every program is told the end of the ID token, not that of the access token`()
            async throws
        {
            let (scene, end) = try await scene(900)
            let answer = try await object(scene, "get", "work", "--id-token", "--format", "json")
            let told = try #require(answer["expires_at"]?.integer)
            // Clocks of whole seconds, read one after the other.
            #expect((-2...1).contains(told - end), "\(told), not \(end)")
            let kube = try await object(scene, "kube-credential", "work", "--id-token")
            #expect(kube["status"]?.object?["expirationTimestamp"] == answer["expires_at_rfc3339"])
            let google = try await object(scene, "google", "work")
            #expect(google["expiration_time"]?.integer == told)
            #expect(try await scene.agent.tokenctl("get", "work", "--min-valid", "30m").status == 0)
            let wish = ["get", "work", "--id-token", "--min-valid", "30m"]
            #expect(try await scene.agent.tokenctl(wish).status == 2)
        }

        private func object(_ scene: Scene, _ line: String...) async throws -> JSONObject {
            let result = try await scene.agent.tokenctl(line)
            return try #require(try JSONValue(parsing: result.standardOutput.utf8).object, "\(result)")
        }

        @Test
        func `after its end status 4 names the login, and one refresh has been tried, also after a restart`()
            async throws
        {
            let (scene, _) = try await scene(3)
            let wish = ["get", "work", "--id-token"]
            #expect(try await Polling.until { try await scene.agent.tokenctl(wish).status == 4 })
            #expect(scene.refreshes == 1)
            let others = [
                ["exec", "work", "--id-token", "--", "true"], ["kube-credential", "work", "--id-token"],
                ["claims", "work", "--id-token"],
            ]
            for line in [wish] + others {
                let result = try await scene.agent.tokenctl(line)
                #expect(result.status == 4 && result.standardOutput.isEmpty, "\(line): \(result)")
                #expect(result.standardError.contains("tokenctl login work"), "\(line): \(result)")
            }
            let google = try await scene.agent.tokenctl("google", "work").standardOutput
            #expect(google.contains(#""success":false"#) && google.contains("login_required"), "\(google)")
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl(wish).status == 4)
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
            #expect(scene.refreshes == 1)
            scene.issuer.settings.idTokenClaims = JSONObject()
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl(wish).status == 0)
        }

        @Test func `an ID token that has ended is replaced by the refresh of whoever asks first`()
            async throws
        {
            let (scene, end) = try await scene(3)
            scene.issuer.settings.refreshBringsIDToken = true
            scene.issuer.settings.idTokenClaims = JSONObject()
            let isRenewed = try await Polling.until {
                let answer = try await object(scene, "get", "work", "--id-token", "--format", "json")
                return answer["expires_at"]?.integer ?? 0 > end + 60
            }
            #expect(isRenewed && scene.refreshes == 1)
        }
    }
}
