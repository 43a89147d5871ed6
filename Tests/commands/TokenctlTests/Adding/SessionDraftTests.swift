// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

@testable import tokenctl_commands

/// The text that `tokenctl add` writes.
struct SessionDraftTests {
    private static func draft(_ name: String, _ fill: (inout SessionDraft) -> Void) -> String {
        var draft = SessionDraft(name: name)
        fill(&draft)
        return draft.text
    }

    @Test func `keys stand in one table below the comments`() {
        let text = Self.draft("z") {
            $0.note("one")
            $0.add("kind", "oidc")
            $0.add("nothing", nil as String?)
            $0.add("redirect_port", 8400)
            $0.add("none", nil as Int?)
            $0.add("scopes", ["a", "b"])
            $0.add("hosts", [])
            $0.note("two")
        }
        #expect(
            text == """
                # one
                # two
                [session.z]
                kind          = "oidc"
                redirect_port = 8400
                scopes        = ["a", "b"]

                """
        )
    }

    /// A value, and how it is spelled.
    static let values: [(String, String)] = [
        ("plain", #""plain""#), (#"a "b" \ c"#, #""a \"b\" \\ c""#), ("é\u{202E}", "\"é\u{202E}\""),
        ("\u{0}\u{1B}[2J\u{7F}", #""\u0000\u001b[2J\u007f""#),
        ("x\"\n[session.evil]\nkind = \"oidc\"", #""x\"\u000a[session.evil]\u000akind = \"oidc\"""#),
    ]

    @Test(.holds("191"), arguments: values)
    func `a value cannot end its line`(value: String, spelled: String) {
        #expect(Self.draft("z") { $0.add("key", value) } == "[session.z]\nkey = \(spelled)\n")
        #expect(Self.draft("z") { $0.add("key", [value]) } == "[session.z]\nkey = [\(spelled)]\n")
    }

    @Test func `a comment is one line, and a name with a point has quotes`() {
        let text = Self.draft("a.b-c_1") { $0.note("x\n[session.evil]\r\u{7F}\u{1B}") }
        #expect(text == "# x?[session.evil]???\n[session.\"a.b-c_1\"]\n")
        #expect(Self.draft("a-b_1") { _ in } == "[session.a-b_1]\n")
    }

    @Test(arguments: [
        "", "https://id.example.com", "http://cognito-idp.eu-west-1.amazonaws.com/p",
        "https://cognito-idp.eu-west-1.amazonaws.com", "https://cognito-idp.eu-west-1.amazonaws.com/p/q",
        "https://cognito-idp.eu-west-1.amazonaws.com.evil.example/p",
        "https://evil.eu-west-1.amazonaws.com/p", "https://cognito-idp.a.b.amazonaws.com/p",
    ])
    func `what is no user pool's issuer is not taken for one`(issuer: String) {
        let error = #expect(throws: AgentError.self) { try CognitoIssuer(issuer) }
        #expect(error?.code == .badRequest)
    }

    @Test func `region and pool are in a user pool's issuer`() throws {
        let issuer = try CognitoIssuer("https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc")
        #expect(issuer.region == "eu-west-1" && issuer.pool == "eu-west-1_Abc")
    }
}
