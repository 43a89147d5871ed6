// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import TokenCore

@testable import OAuthClient

struct CommandServerTests {
    private static func bench(
        _ commands: ScriptedCommands,
        remedy: String? = "az login"
    ) throws -> KindBench {
        let source = CommandSource(command: ["/usr/bin/az", "token"], loginRemedy: remedy)
        let profile = ServerProfile(kind: .command(source), client: ClientIdentity(""))
        return try KindBench(profile, commands: commands)
    }

    @Test func `what a program prints is the token`() async throws {
        let commands = ScriptedCommands(prints: #"{"accessToken":"at-1","expires_in":90}"#)
        let bench = try Self.bench(commands)
        let granted = try #require(try await bench.refresh(.withoutLogin).granted)
        #expect(try bench.text(granted.accessToken) == "at-1")
        #expect(granted.lifetime == .seconds(90))
        #expect(commands.commands == [["/usr/bin/az", "token"]])
        #expect(
            await bench.server.revoke(RevocationRequest(refreshToken: nil, accessToken: granted.accessToken))
                == .nothing
        )
    }

    @Test(arguments: [
        (Int32(4), FailureClass.sourceEnded), (1, .helperFailed), (3, .helperFailed), (137, .helperFailed),
    ])
    func `status 4 asks for a person, any other is tried again`(
        status: Int32,
        kind: FailureClass
    ) async throws {
        let bench = try Self.bench(ScriptedCommands(prints: "secret-output", status: status))
        let failure = try #require(try await bench.refresh(.withoutLogin).failure)
        #expect(failure.kind == kind)
        #expect(failure.remedy == (kind == .sourceEnded ? .run("az login") : nil))
        #expect(!"\(failure)".contains("secret-output"))
    }

    @Test func `output that is no token is tried again and told nowhere`() async throws {
        let bench = try Self.bench(ScriptedCommands(prints: "Opening a browser for alice@example.com"))
        let failure = try #require(try await bench.refresh(.withoutLogin).failure)
        #expect(failure.kind == .helperFailed)
        #expect(failure.message == "command: /usr/bin/az printed something other than one token")
    }

    @Test func `no other scope can be asked of a program`() async throws {
        let bench = try Self.bench(ScriptedCommands(prints: "at"))
        let variant = TokenVariant(scopes: ["more"], audience: nil)
        #expect(try await bench.refresh(.withoutLogin, variant: variant).failure?.kind == .variantRefused)
        #expect(try await bench.logIn().failure?.kind == .misconfigured)
    }
}
