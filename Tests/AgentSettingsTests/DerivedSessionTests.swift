// SPDX-License-Identifier: MIT

import OAuthClient
import Testing
import TokenCore

@testable import AgentSettings

/// Sessions whose tokens come from something else than a login.
struct DerivedSessionTests {
    @Test func `a command needs nothing but its words`() throws {
        let text = """
            [session.az]
            kind = "command"
            command = ["az", "account", "get-access-token"]
            login_remedy = "az login"
            expires_in = "30m"
            hosts = ["management.azure.com"]
            """
        let session = try #require(try read(text).sessions.first)
        let source = CommandSource(
            command: ["az", "account", "get-access-token"],
            loginRemedy: "az login",
            assumedLifetime: .seconds(1_800)
        )
        #expect(session.server == .command(source))
        #expect(session.policy.startsByItself && session.policy.tokensOutliveLogin)
        #expect(SessionLineage([session]).loginSubstitute(for: session) == "az login")
        #expect(session.commands == [source.command])
    }

    @Test(arguments: ["flow = \"browser\"", "client_id = \"x\"", "ca_file = \"/x\"", "reauth = [\"prompt\"]"])
    func `a command has no server's keys`(key: String) {
        let told = complaints("[session.az]\nkind = \"command\"\ncommand = [\"az\"]\n\(key)\n")
        #expect(told.count == 1, "\(told)")
    }
}
