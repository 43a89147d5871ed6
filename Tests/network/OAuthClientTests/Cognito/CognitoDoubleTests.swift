// SPDX-License-Identifier: MIT

import DemoIssuer
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The real client over HTTPS against a user pool as Amazon documents it.
struct CognitoDoubleTests {
    static let users = ["alice", "bob", "carol", "dave"].map {
        CognitoDouble.User(name: $0, password: "\($0)-password")
    }

    func scene(
        _ client: CognitoDouble.Client = CognitoDouble.Client(id: "cli"),
        authFlow: CognitoPool.AuthFlow? = .password,
        rotates: Bool? = nil
    ) async throws -> (KindScene, CognitoDouble) {
        let double = try CognitoDouble(
            clients: [client, CognitoDouble.Client(id: "other")],
            users: CognitoDoubleTests.users
        )
        let scene = try await KindScene([double.route], clientSecret: client.secret, clientID: client.id) {
            .cognito(
                CognitoPool(
                    region: CognitoDouble.region,
                    userPoolID: CognitoDouble.poolID,
                    endpoint: $0 + "/",
                    authFlow: authFlow,
                    rotates: rotates
                )
            )
        }
        return (scene, double)
    }

    /// The operations called, in order, with the flow of `InitiateAuth`.
    func calls(_ scene: KindScene) -> [String] {
        scene.issuer.requests(to: "/").map { request in
            let action = request.header("x-amz-target")?.split(separator: ".").last.map(String.init) ?? ""
            return request.json?["AuthFlow"]?.string ?? action
        }
    }

    @Test func `a password is proven without being sent`() async throws {
        let (scene, _) = try await scene(authFlow: nil)
        let grant = try #require(try await scene.logIn().granted)
        #expect(calls(scene) == ["USER_SRP_AUTH", "RespondToAuthChallenge"])
        let sent = scene.issuer.requests().map { String(decoding: $0.body, as: UTF8.self) }
        #expect(!sent.contains { $0.contains("alice-password") })
        #expect(grant.subject == "sub-alice")
        #expect(grant.tokens.lifetime == .seconds(3600))
        #expect(grant.tokens.refreshLifetime == RefreshLifetime(.seconds(30 * 86_400), source: .presumed))
        #expect(JWTParts(try scene.text(grant.tokens.idToken?.secret))?.claims["token_use"]?.string == "id")
        #expect(JWTParts(try scene.text(grant.tokens.accessToken))?.claims["token_use"]?.string == "access")
        await scene.servers.shutDown()
    }

    @Test(arguments: [CognitoPool.AuthFlow.srp, .password])
    func `a wrong password is refused`(flow: CognitoPool.AuthFlow) async throws {
        let (scene, _) = try await scene(authFlow: flow)
        let failure = try #require(try await scene.logIn(password: "wrong").failure)
        #expect(failure.code == "NotAuthorizedException")
        #expect(failure.message.contains("Incorrect username or password."))
        await scene.servers.shutDown()
    }

    @Test func `a client without SRP gets the password, unless the configuration says srp`() async throws {
        var client = CognitoDouble.Client(id: "cli")
        client.flows = ["USER_PASSWORD_AUTH"]
        let (lenient, _) = try await scene(client, authFlow: nil)
        #expect(try await lenient.logIn().granted != nil)
        #expect(calls(lenient) == ["USER_SRP_AUTH", "USER_PASSWORD_AUTH"])
        let (strict, _) = try await scene(client, authFlow: .srp)
        #expect(try await strict.logIn().failure?.kind == .misconfigured)
        #expect(calls(strict) == ["USER_SRP_AUTH"])
        await lenient.servers.shutDown()
        await strict.servers.shutDown()
    }

    @Test(arguments: [CognitoPool.AuthFlow.srp, .password])
    func `a client with a secret proves it at every step`(flow: CognitoPool.AuthFlow) async throws {
        let (scene, double) = try await scene(
            CognitoDouble.Client(id: "cli", secret: "client-secret"),
            authFlow: flow
        )
        double.change(user: "dave") { $0.code = "123456" }
        // Logged in by address: the refresh has to be for the name.
        let login = try await scene.logIn("dave@example.org", password: "dave-password") { _ in "123456" }
        let grant = try #require(login.granted)
        #expect(await scene.refresh(grant).granted != nil)
        #expect(await scene.revoke(grant) == .revoked)
        #expect(!double.isAlive(try scene.refreshToken(grant)))
        await scene.servers.shutDown()
    }

    @Test func `a wrong client secret is a matter of the configuration`() async throws {
        let client = CognitoDouble.Client(id: "cli", secret: "client-secret")
        let (scene, double) = try await scene(client)
        let grant = try #require(try await scene.logIn().granted)
        double.change(client: "cli") { $0.secret = "another" }
        #expect(await scene.refresh(grant).failure?.kind == .clientRejected)
        #expect(double.isAlive(try scene.refreshToken(grant)))
        await scene.servers.shutDown()
    }

    @Test func `a new password is asked for until the pool likes it`() async throws {
        let (scene, double) = try await scene()
        double.change(user: "carol") { $0.mustChangePassword = true }
        let answers = Answers(["short", "long enough 1"])
        let login = try await scene.logIn("carol") { answers.next($0) }
        #expect(login.granted?.subject == "sub-carol")
        #expect(answers.asked.map(\.kind) == [.newPassword, .newPassword])
        #expect(answers.asked.last?.prompt.contains("not long enough") == true)
        #expect(try await scene.logIn("carol", password: "long enough 1").granted != nil)
        await scene.servers.shutDown()
    }

    @Test(arguments: ["SOFTWARE_TOKEN_MFA", "SMS_MFA", "EMAIL_OTP"])
    func `a mistyped code may be tried again, three times in all`(factor: String) async throws {
        let (scene, double) = try await scene()
        double.change(user: "dave") {
            $0.code = "123456"
            $0.factor = factor
        }
        let answers = Answers(["000000", "123456"])
        #expect(try await scene.logIn("dave") { answers.next($0) }.granted != nil)
        #expect(answers.asked.map(\.kind) == [.oneTimeCode, .oneTimeCode])
        let wrong = Answers(["1", "2", "3", "123456"])
        let failure = try await scene.logIn("dave") { wrong.next($0) }.failure
        #expect(failure?.code == "CodeMismatchException")
        #expect(wrong.asked.count == 3)
        await scene.servers.shutDown()
    }

    @Test func `a challenge that has to be met elsewhere is named`() async throws {
        let (scene, double) = try await scene()
        double.change(user: "dave") {
            $0.code = "1"
            $0.factor = "MFA_SETUP"
        }
        let failure = try #require(try await scene.logIn("dave").failure)
        #expect((failure.kind, failure.code) == (.interactionRequired, "MFA_SETUP"))
        await scene.servers.shutDown()
    }

    @Test func `a refresh keeps the refresh token and brings a new ID token`() async throws {
        let (scene, _) = try await scene()
        let grant = try #require(try await scene.logIn().granted)
        let tokens = try #require(await scene.refresh(grant).granted)
        #expect(tokens.refreshToken == nil)
        #expect(try scene.text(tokens.idToken?.secret) != scene.text(grant.tokens.idToken?.secret))
        #expect(calls(scene).last == "REFRESH_TOKEN_AUTH")
        await scene.servers.shutDown()
    }

    @Test(arguments: [true, nil])
    func `a client that rotates is refreshed by the other operation`(rotates: Bool?) async throws {
        var client = CognitoDouble.Client(id: "cli", secret: "client-secret")
        client.rotates = true
        let (scene, _) = try await scene(client, rotates: rotates)
        let grant = try #require(try await scene.logIn().granted)
        scene.issuer.forgetRequests()
        let first = try #require(await scene.refresh(grant).granted)
        let renewal = RenewalMethod.refreshToken(try #require(first.refreshToken))
        #expect(await scene.refresh(grant, with: renewal).granted?.refreshToken != nil)
        let found = rotates == true ? [] : ["REFRESH_TOKEN_AUTH"]
        #expect(calls(scene) == found + ["GetTokensFromRefreshToken", "GetTokensFromRefreshToken"])
        let reuse = try #require(await scene.refresh(grant).failure)
        #expect((reuse.kind, reuse.code) == (.grantDead, "RefreshTokenReuseException"))
        await scene.servers.shutDown()
    }

    @Test func `dead refresh tokens end the session without a second question`() async throws {
        let (scene, double) = try await scene()
        let expiring = try #require(try await scene.logIn().granted)
        double.advance(by: .seconds(31 * 86_400))
        scene.issuer.forgetRequests()
        #expect(await scene.refresh(expiring).failure?.kind == .grantDead)
        #expect(calls(scene) == ["REFRESH_TOKEN_AUTH"])
        let disabled = try #require(try await scene.logIn("bob").granted)
        double.change(user: "bob") { $0.isDisabled = true }
        #expect(await scene.refresh(disabled).failure?.kind == .grantDead)
        await scene.servers.shutDown()
    }

    @Test func `another client's refresh token is refused by both operations`() async throws {
        let (scene, _) = try await scene()
        let grant = try #require(try await scene.logIn().granted)
        var profile = scene.profile
        profile.client.id = "other"
        scene.servers.replaceProfiles([scene.name: profile])
        scene.issuer.forgetRequests()
        let failure = try #require(await scene.refresh(grant).failure)
        #expect((failure.kind, failure.code) == (.grantDead, "NotAuthorizedException"))
        #expect(calls(scene) == ["REFRESH_TOKEN_AUTH", "GetTokensFromRefreshToken"])
        await scene.servers.shutDown()
    }

    @Test(arguments: [
        ("TooManyRequestsException", 400, FailureClass.busy), ("ThrottlingException", 429, .busy),
        ("InternalErrorException", 500, .busy), ("ServiceUnavailable", 503, .busy),
        ("ResourceNotFoundException", 400, .misconfigured), ("NotAuthorizedException", 503, .busy),
    ])
    func `throttling and trouble at Amazon's end nothing`(
        type: String,
        status: Int,
        kind: FailureClass
    ) async throws {
        let (scene, _) = try await scene()
        let grant = try #require(try await scene.logIn().granted)
        scene.issuer.queue(CognitoDouble.failure(type, "no", status: status), for: "/")
        #expect(await scene.refresh(grant).failure?.kind == kind)
        #expect(await scene.refresh(grant).granted != nil)
        await scene.servers.shutDown()
    }

    @Test func `a logout revokes the refresh token, and no other session's`() async throws {
        let (scene, double) = try await scene()
        let here = try #require(try await scene.logIn().granted)
        let elsewhere = try #require(try await scene.logIn().granted)
        #expect(await scene.revoke(here) == .revoked)
        #expect(!double.isAlive(try scene.refreshToken(here)))
        #expect(double.isAlive(try scene.refreshToken(elsewhere)))
        await scene.servers.shutDown()
    }

    @Test func `where nothing can be revoked the person is signed out`() async throws {
        let (scene, double) = try await scene()
        let grant = try #require(try await scene.logIn().granted)
        double.change(client: "cli") { $0.allowsRevocation = false }
        scene.issuer.forgetRequests()
        #expect(await scene.revoke(grant) == .revoked)
        #expect(calls(scene) == ["RevokeToken", "GlobalSignOut"])
        #expect(!double.isAlive(try scene.refreshToken(grant)))
        await scene.servers.shutDown()
    }

    @Test func `a throttled logout is worth another try`() async throws {
        let (scene, _) = try await scene()
        let grant = try #require(try await scene.logIn().granted)
        scene.issuer.queue(CognitoDouble.failure("TooManyRequestsException", "slow"), for: "/")
        guard case .failed = await scene.revoke(grant) else {
            Issue.record("the logout would not be repeated")
            return
        }
        #expect(await scene.revoke(grant) == .revoked)
        await scene.servers.shutDown()
    }
}
