// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// The part of a program's standard error that is shown.
struct ProgramComplaintTests {
    private func shown(_ errors: String, output: String = "") -> String? {
        StandardErrorLine(standardError: Array(errors.utf8), standardOutput: Array(output.utf8))?.description
    }

    @Test(
        .holds("35"),
        arguments: [
            ("gpg: decryption failed: No secret key\n", "gpg: decryption failed: No secret key"),
            ("\n\n  \nfirst\nsecond\n", "first"), ("one\rtwo", "one"),
            ("\u{1B}[31;1merror:\u{1B}[0m the keyring is locked\n", "error: the keyring is locked"),
            ("\u{1B}]0;title\u{7}text", "]0;title text"), ("\u{1B}[2Jcleared", "cleared"),
            ("\u{1B}[", nil), ("a\u{9B}31mb\u{202E}c", "a 31mb\\u{202e}c"), ("", nil), (" \t\n\0\n", nil),
            ("/run/user/1000/keyring/control: No such file", "/run/user/1000/keyring/control: No such file"),
        ] as [(String, String?)]
    )
    func `the first line with text is shown, in printable ASCII`(errors: String, line: String?) {
        #expect(shown(errors) == line)
    }

    @Test func `the line is bounded`() {
        #expect((shown(String(repeating: "a b ", count: 5_000)) ?? "").utf8.count == 200)
    }

    @Test(.holds("35")) func `words of the output are not repeated`() {
        #expect(shown("+ echo hunter2secret", output: "hunter2secret\n") == "+ echo [redacted]")
        #expect(shown("got 'pass word!'", output: "pass word!\n") == "got '[redacted]'")
        #expect(
            shown("bad token abcdef.123", output: #"{"access_token":"abcdef.123"}"#) == "bad token [redacted]"
        )
        // A short word is kept, because many messages contain it.
        #expect(shown("the key is bad", output: "key\n") == "the key is bad")
    }

    @Test func `words that look like keys or tokens are not shown`() {
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln"
        #expect(shown("denied: Bearer \(token) has expired") == "denied: Bearer [redacted] has expired")
        #expect(shown("key 0123456789abcdef0123456789abcdef") == "key [redacted]")
        let words = "internationalization-and-localization"
        #expect(shown(words) == words)
    }

    @Test(arguments: [
        ("Bad PIN", true), ("gpg: decryption failed: Bad passphrase", true), ("The password is wrong.", true),
        ("error: CKR_PIN_INCORRECT", true), ("incorrect password for alice", true), ("PIN incorrect", true),
        ("invalid pin", true), ("gpg: decryption failed: No secret key", false), ("cannot spin up", false),
        ("password: the store is locked", false), ("No such file", false),
    ])
    func `a program that calls a password or PIN wrong is told from others`(errors: String, isWrong: Bool) {
        let complaint = StandardErrorLine(standardError: Array(errors.utf8))
        #expect(complaint?.rejectsCredential == isWrong)
    }

    @Test func `a failure names program, status and complaint`() {
        let complaint = StandardErrorLine(standardError: Array("Bad PIN\n".utf8))
        let result = CommandResult(status: 2, standardOutput: [], complaint: complaint)
        let failure = CommandFailure(result, of: ["/usr/bin/pkcs11-tool", "--pin"])
        #expect(failure.message == "/usr/bin/pkcs11-tool: exit status 2: Bad PIN")
        let refresh = RefreshFailure(failure, of: "client_secret_command")
        #expect(refresh.kind == .credentialRejected)
        #expect(refresh.message == "client_secret_command: /usr/bin/pkcs11-tool: exit status 2: Bad PIN")
        #expect(RefreshFailure(CommandFailure(message: "x"), of: "command").kind == .helperFailed)
    }
}
