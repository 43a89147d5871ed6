// SPDX-License-Identifier: MIT

import AgentProtocol
import SecretMemory
import TestSupport
import Testing
import Text

@testable import SealedStore

/// The secrets of slots that come from outside of the agent.
struct ExternalProviderTests {
    /// A command's output, and a directory of credentials.
    private struct Access: ExternalAccess {
        var credentials: String?
        var hasSystemd = true
        var output: [UInt8]?

        func output(
            of command: [String],
            _ failure: (String, Bool) -> StoreError
        ) throws(StoreError) -> [UInt8] {
            guard let output, command == ["pass", "", "agent"] else { throw failure("it failed", true) }
            return output
        }
    }

    @Test func `every method with a secret from outside has one provider`() {
        let kinds = ExternalProvider.allCases.map(\.kind)
        #expect(kinds.count == Set(kinds).count)
        #expect(Set(kinds) == Set(SlotKind.allCases.filter(\.isExternal)))
    }

    @Test(arguments: [
        ("key\n", "key"), ("key", "key"), ("key\n\n", "key\n"), ("\n", nil), ("", nil),
    ])
    func `a command's output is the secret, without one line break`(output: String, secret: String?) throws {
        let access = Access(output: Array(output.utf8))
        let name = "pass\0\0agent"
        guard let secret else {
            let refusal = StoreError.noExternalSecret(
                .command,
                name: "pass",
                reason: "no output",
                remedy: ExternalProvider.command.remedy
            )
            #expect(throws: refusal) { try ExternalProvider.command.secret(name, by: access) }
            return
        }
        let found = try ExternalProvider.command.secret(name, by: access)
        #expect(found.read { String(decoding: $0, as: UTF8.self) } == secret)
    }

    @Test func `a command that fails is named by its program`() {
        let refusal = StoreError.noExternalSecret(
            .command,
            name: "false",
            reason: "it failed",
            remedy: ExternalProvider.command.remedy,
            isFinal: true
        )
        #expect(throws: refusal) { try ExternalProvider.command.secret("false\0x", by: Access()) }
        #expect(refusal.description == "the command false delivered no key: it failed")
    }

    @Test func `without systemd no unit is named`() {
        for (hasSystemd, kind) in [(true, Remedy.Kind.set), (false, .retry)] {
            let access = Access(hasSystemd: hasSystemd)
            let error = #expect(throws: StoreError.self) {
                try ExternalProvider.systemdCredential.secret("x", by: access)
            }
            #expect(error?.remedy?.kind == kind)
        }
    }

    @Test(arguments: [
        ("short", nil), ("longest", nil), ("lines", "is empty"), ("too long", "is longer than 8192 bytes"),
        ("missing", "No such file or directory"), ("a/b", "cannot contain /"), ("..", "cannot contain /"),
    ])
    func `a credential is a file of the service manager`(name: String, reason: String?) throws {
        let directory = try TemporaryDirectory()
        for (name, text) in [
            ("short", "key\n"), ("longest", String(repeating: "k", count: 8_192)), ("lines", "\n"),
            ("too long", String(repeating: "k", count: 8_193)),
        ] {
            try directory.write(text, to: name)
        }
        let access = Access(credentials: directory.path)
        do throws(StoreError) {
            let found = try ExternalProvider.systemdCredential.secret(name, by: access)
            #expect(reason == nil && found.count == (name == "short" ? 3 : 8_192))
        } catch {
            #expect(reason.map { error.description.contains($0) } == true, "\(error)")
            #expect(error.mayPass == !error.description.contains("cannot contain"))
        }
    }

    @Test func `without a service manager no credential will come`() {
        let refusal = StoreError.noExternalSecret(
            .systemdCredential,
            name: "tokenagent",
            reason: "CREDENTIALS_DIRECTORY is not set",
            remedy: ExternalProvider.systemdCredential.remedy,
            isFinal: true
        )
        #expect(throws: refusal) {
            try ExternalProvider.systemdCredential.secret("tokenagent", by: Access())
        }
        #expect(refusal.description.hasPrefix("the credential tokenagent delivered no key: "))
    }
}
