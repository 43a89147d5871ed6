// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

private let isMissing: Comment =
    "the script that runs moto is not here; set TOKENAGENT_IDP_DIR to its directory"

@Suite(.enabled(if: Moto.isAvailable, isMissing), .moto, .serialized)
struct MotoTests {
    @Test(arguments: ["public", "confidential"], [CognitoPool.AuthFlow.password, .srp])
    func `a session logs in and lives on through refreshes`(
        client: String,
        flow: CognitoPool.AuthFlow
    ) async throws {
        let scene = try MotoScene(client: client, authFlow: flow)
        let grant = try #require(try await scene.logIn("bob").granted)
        #expect(grant.tokens.lifetime == .seconds(3600))
        #expect(grant.tokens.idToken != nil)
        #expect(grant.subject != nil)
        for _ in 0..<3 {
            let tokens = try #require(await scene.refresh(grant).granted)
            #expect(tokens.refreshToken == nil)
            #expect(tokens.idToken != nil)
        }
        await scene.servers.shutDown()
    }

    @Test func `a wrong password and an unknown person are refused`() async throws {
        let scene = try MotoScene()
        let wrong = try await scene.logIn("alice", password: "not-the-password").failure
        #expect((wrong?.kind, wrong?.code) == (.grantDead, "NotAuthorizedException"))
        let unknown = try await scene.logIn("nobody", password: "x").failure
        #expect((unknown?.kind, unknown?.code) == (.grantDead, "UserNotFoundException"))
        await scene.servers.shutDown()
    }

    @Test func `a temporary password is replaced at the first login`() async throws {
        let scene = try MotoScene()
        let answers = Answers(["Carol-chosen-22"])
        #expect(try await scene.logIn("carol", answers).granted != nil)
        #expect(answers.asked.map(\.kind) == [.newPassword])
        #expect(try await scene.logIn("carol", password: "Carol-chosen-22").granted != nil)
        await scene.servers.shutDown()
    }

    @Test func `a second factor is asked for, again after a wrong code`() async throws {
        let scene = try MotoScene()
        let code = try await scene.pool.command("totp").split(separator: "\n").first.map(String.init)
        let answers = Answers(["000000", try #require(code)])
        #expect(try await scene.logIn("dave", answers).granted != nil)
        #expect(answers.asked.map(\.kind) == [.oneTimeCode, .oneTimeCode])
        await scene.servers.shutDown()
    }

    @Test func `signed out by an administrator, the session is over`() async throws {
        let scene = try MotoScene()
        let grant = try #require(try await scene.logIn("alice").granted)
        _ = try await scene.pool.command("sign-out", "alice")
        let failure = try #require(await scene.refresh(grant).failure)
        #expect((failure.kind, failure.code) == (.grantDead, "NotAuthorizedException"))
        await scene.servers.shutDown()
    }

    @Test func `a logout signs out where tokens cannot be revoked`() async throws {
        let scene = try MotoScene()
        let grant = try #require(try await scene.logIn("alice").granted)
        #expect(await scene.revoke(grant) == .revoked)
        #expect(await scene.refresh(grant).failure?.kind == .grantDead)
        await scene.servers.shutDown()
    }

    @Test func `an unknown client is a matter of the configuration`() async throws {
        let scene = try MotoScene(client: "no-such-client")
        let failure = try #require(try await scene.logIn("alice").failure)
        #expect((failure.kind, failure.code) == (.misconfigured, "ResourceNotFoundException"))
        await scene.servers.shutDown()
    }
}
