// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the stand-in for IAM Identity Center is not here; set TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// Logins to a stand-in for IAM Identity Center, and the roles of whoever is logged in.
    @Suite(.full, .enabled(if: IdentityCenterScene.script.isAvailable, isMissing))
    struct LoginWithRolesTests {
        private typealias Scene = IdentityCenterScene

        @Test(.holds("188")) func `one login has many roles, which a restart without network serves at once`()
            async throws
        {
            try await Scene.whileRunning { scene in
                let early = try await scene.aws("Admin")
                #expect(early.status == 4 && early.complainsInOneLine, "\(early)")
                #expect(early.standardError.contains("tokenctl login sso"), "\(early)")
                try await scene.logIn()
                let token = try await scene.agent.tokenctl("get", "sso").line
                let reader = try await scene.agent.tokenctl("aws", "reader")
                let (first, second) = (try await scene.aws("ReadOnly"), try await scene.aws("Admin"))
                for result in [reader, first, second] {
                    #expect(result.status == 0, "\(result) \(scene.agent.log)")
                    let object = try #require(try JSONValue(parsing: result.standardOutput.utf8).object)
                    #expect(object["Version"]?.integer == 1 && object.members.count == 5)
                    let secret = try #require(object["SecretAccessKey"]?.string)
                    #expect(!scene.agent.log.contains(secret))
                }
                #expect(Set([reader, first, second].map(\.standardOutput)).count == 3)
                #expect(try await scene.aws("Admin").standardOutput == second.standardOutput)
                #expect(try scene.requests(to: "/federation/credentials").count == 3)
                #expect(try scene.requests(to: "/client/register").count == 1)
                try await scene.agent.kill()
                try await scene.stopServer()
                try await scene.agent.start()
                #expect(try await scene.agent.tokenctl("get", "sso").line == token)
                #expect(try await scene.aws("ReadOnly").standardOutput == first.standardOutput)
                #expect(try await scene.aws("Admin").standardOutput == second.standardOutput)
                #expect(
                    try await scene.agent.tokenctl("aws", "reader").standardOutput == reader.standardOutput
                )
            }
        }

        @Test(.holds("188"))
        func `each refresh spends its token, and a killed agent goes on with the last one`()
            async throws
        {
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                var seen: Set<String> = [try await scene.agent.tokenctl("get", "sso").line]
                for round in 1...3 {
                    let result = try await scene.agent.tokenctl("refresh", "sso")
                    #expect(result.status == 0, "\(result) \(scene.agent.log)")
                    seen.insert(try await scene.agent.tokenctl("get", "sso").line)
                    #expect(try scene.refreshes() == round)
                    try await scene.agent.kill()
                    try await scene.agent.start()
                }
                #expect(seen.count == 4)
                #expect(try await scene.agent.status("sso")["rotation"]?.string == "rotates")
            }
        }

        @Test(.holds("188")) func `a role is had although the login's own token has ended meanwhile`()
            async throws
        {
            try await Scene.whileRunning(["--access-ttl", "3"]) { scene in
                try await scene.logIn()
                try await scene.agent.kill()
                let end = ContinuousClock.now + .seconds(4)
                #expect(try await Polling.until { ContinuousClock.now >= end })
                try await scene.agent.start()
                let result = try await scene.aws("Admin")
                #expect(result.status == 0, "\(result) \(scene.agent.log)")
                #expect(try scene.refreshes() > 0)
            }
        }

        @Test(.holds("188")) func `many requests on a login's token that has ended are one refresh`()
            async throws
        {
            let shim = try await WallClockShim()
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                let ended = try await scene.agent.tokenctl("get", "sso").line
                try await scene.agent.kill()
                // It lives ten minutes, and an hour goes by without the agent.
                try shim.set(3_600, sinceBoot: 3_600)
                try await scene.signalServer("STOP")
                try await scene.agent.start(extraEnvironment: shim.environment)
                let socket = scene.agent.socket
                let given = try await withThrowingTaskGroup(of: String?.self) { group in
                    for _ in 0..<200 {
                        group.addTask {
                            let reply = try await socket.request(
                                "GET",
                                "/v1/sessions/sso/token?timeout=60"
                            )
                            return reply.json?["access_token"]?.string
                        }
                    }
                    #expect(try await scene.agent.hasWaiters(200))
                    try await scene.signalServer("CONT")
                    return try await group.reduce(into: [String?]()) { $0.append($1) }
                }
                #expect(given.count == 200 && Set(given).count == 1, "\(scene.agent.log)")
                #expect(given[0] != nil && given[0] != ended)
                // The stand-in notes a request once it has answered it.
                #expect(try await Polling.until { try scene.refreshes() > 0 })
                #expect(try scene.refreshes() == 1)
                Attachment.record("200 requests, \(try scene.refreshes()) refresh", named: "figure")
            }
        }

        @Test(.holds("188")) func `fifty callers who want a role are one request`() async throws {
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                #expect(try await scene.agent.reaches("ready", "reader"), "\(scene.agent.log)")
                let before = try scene.requests(to: "/federation/credentials").count
                let socket = scene.agent.socket
                let path = "/v1/sessions/sso/aws?account=\(Scene.account)&role=Admin"
                let answers = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<50 {
                        group.addTask { try await socket.request("GET", path).text }
                    }
                    return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                }
                #expect(answers.count == 1 && answers.first?.contains("AccessKeyId") == true, "\(answers)")
                #expect(try scene.requests(to: "/federation/credentials").count == before + 1)
            }
        }

        @Test(
            .holds("188"),
            arguments: [
                ["refresh", "sso"], ["refresh", "reader"],
                ["aws", "sso", "--account", IdentityCenterScene.account, "--role", "Admin"],
            ]
        )
        func `a login that was ended elsewhere is asked for by name, for its roles too`(
            arguments: [String]
        ) async throws {
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                #expect(try await scene.agent.tokenctl("aws", "reader").status == 0)
                try await scene.pull("revoke-all")
                let over = try await scene.agent.tokenctl(arguments)
                #expect(over.status == 4 && over.complainsInOneLine, "\(over) \(scene.agent.log)")
                #expect(over.standardError.contains("tokenctl login sso"), "\(over)")
                for command in [["get", "sso"], ["aws", "reader"]] {
                    let result = try await scene.agent.tokenctl(command)
                    #expect(result.status == 4, "\(result)")
                    #expect(result.standardError.contains("tokenctl login sso"), "\(result)")
                }
                try await scene.logIn()
                #expect(try await scene.aws("Admin").status == 0)
                #expect(try await scene.agent.reaches("ready", "reader"), "\(scene.agent.log)")
            }
        }

        @Test(.holds("188")) func `a forgotten client costs a login, which registers another`() async throws {
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                try await scene.pull("forget-clients")
                let result = try await scene.agent.tokenctl("refresh", "sso")
                #expect(result.status == 4 && result.complainsInOneLine, "\(result)")
                #expect(result.standardError.contains("tokenctl login sso"), "\(result)")
                try await scene.logIn()
                #expect(try scene.requests(to: "/client/register").count == 2)
                #expect(try await scene.agent.tokenctl("refresh", "sso").status == 0)
            }
        }

        @Test(.holds("188")) func `the end of the registration is the end of the login, and is announced`()
            async throws
        {
            try await Scene.whileRunning(
                ["--access-ttl", "600", "--client-ttl", "3600"],
                session: "warn_before = \"2h\""
            ) { scene in
                try await scene.logIn()
                let status = try await scene.agent.status("sso")
                let (end, start) = (status["refresh_expires_at"]?.integer, status["logged_in_at"]?.integer)
                #expect(abs((end ?? 0) - (start ?? 0) - 3_600) < 60, "\(status)")
                // A refresh shows that it does not move the end, once the two are some seconds apart.
                let delay = ContinuousClock.now + .seconds(5)
                #expect(try await Polling.until { ContinuousClock.now >= delay })
                #expect(try await scene.agent.tokenctl("refresh", "sso").status == 0)
                #expect(try await scene.agent.tokenctl("status", "--check", "sso").status == 9)
            }
        }

        @Test(.holds("188")) func `a role that the person has not is told by its names`() async throws {
            let table = """
                [session.nobody]
                kind = "aws_role"
                from = "sso"
                account_id = "444455556666"
                role_name = "Admin"
                """
            try await Scene.whileRunning(more: table) { scene in
                try await scene.logIn()
                let results = [
                    try await scene.aws("Admin", account: "444455556666"),
                    try await scene.agent.tokenctl("aws", "nobody"),
                ]
                for result in results {
                    #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
                    let words = "no role Admin in account 444455556666"
                    #expect(result.standardError.contains(words), "\(result)")
                }
                #expect(try await scene.aws("ReadOnly", account: "444455556666").status == 0)
                #expect(try await scene.agent.status("sso")["state"]?.string == "ready")
            }
        }

        @Test func `a refused login is no login, and a logout ends one at the portal`() async throws {
            try await Scene.whileRunning { scene in
                #expect(try await scene.logIn(denying: true).status == 8)
                try await scene.logIn()
                let token = try await scene.agent.tokenctl("get", "sso").line
                let logout = try await scene.agent.tokenctl("logout", "sso")
                #expect(logout.status == 0, "\(logout)")
                #expect(try await scene.aws("ReadOnly").status == 4)
                #expect(try await scene.agent.tokenctl("aws", "reader").status == 4)
                let endpoint = scene.state["endpoint"]?.string ?? ""
                let asked = try await scene.agent.shell(
                    """
                    curl -s -o /dev/null -w '%{http_code}' -H 'x-amz-sso_bearer_token: \(token)' \
                    '\(endpoint)/assignment/accounts'
                    """
                )
                #expect(asked.line == "401")
            }
        }

        @Test func `which role is meant has to be said, and a token is no role`() async throws {
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                for arguments in [
                    ["aws", "sso"], ["aws", "sso", "--account", Scene.account],
                    ["aws", "sso", "--role", "Admin"],
                    ["aws", "sso", "--account", "1", "--role", "Admin"],
                    ["aws", "sso", "--account", Scene.account, "--role", "../Admin"],
                    ["aws", "reader", "--account", Scene.account, "--role", "Admin"],
                    ["get", "sso", "--audience", "\(Scene.account)/Admin"], ["get", "reader"],
                ] {
                    let result = try await scene.agent.tokenctl(arguments)
                    #expect(result.status == 2, "\(arguments) \(result)")
                    #expect(!result.standardOutput.contains("AccessKey"), "\(arguments)")
                }
                #expect(try scene.requests(to: "/federation/credentials").count <= 1)
                #expect(try await scene.agent.tokenctl("lock").status == 0)
                #expect(try await scene.aws("Admin").status == 6)
            }
        }

        @Test(.holds("188"), .enabled(if: IdentityCenterScene.hasLibrary, "boto3 is not installed here"))
        func `Amazon's own library takes the credentials of both kinds`() async throws {
            try await Scene.whileRunning { scene in
                try await scene.logIn()
                for command in [
                    "tokenctl aws reader", "tokenctl aws sso --account \(Scene.account) --role Admin",
                ] {
                    let result = try await scene.libraryKey(by: command)
                    #expect(result.status == 0 && result.standardOutput.hasPrefix("ASIA"), "\(result)")
                }
            }
        }
    }
}
