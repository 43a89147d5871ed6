// SPDX-License-Identifier: MIT

import DemoIssuer
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The real client over HTTPS against both documented back ends.
struct MobileBackEndTests {
    func scene(_ backEnd: MobileBackEnd, pinned: Bool = false) async throws -> KindScene {
        try await KindScene(backEnd.routes, pinned: pinned) { address in
            .json(
                JSONBackEnd(
                    loginURL: address + backEnd.loginPath,
                    refreshURL: address + backEnd.refreshPath,
                    logoutURL: address + backEnd.logoutPath,
                    rules: backEnd.style == .signaling ? .signaling : .ecall
                )
            )
        }
    }

    @Test(arguments: [MobileBackEnd.Style.signaling, .ecall])
    func `a session logs in, rolls through refreshes and logs out`(style: MobileBackEnd.Style) async throws {
        let backEnd = MobileBackEnd(style)
        let scene = try await scene(backEnd, pinned: true)
        let grant = try #require(try await scene.logIn().granted)
        #expect(grant.tokens.lifetime == .seconds(900))
        #expect(grant.tokens.refreshLifetime == RefreshLifetime(.seconds(30 * 86_400)))
        #expect(grant.tokens.keptMembers == ["userId": "user-alice", "deviceId": "device-1"])
        var renewal = grant.renewal
        var seen: Set<String> = [try scene.refreshToken(grant)]
        for _ in 0..<5 {
            backEnd.advance(by: .seconds(20 * 86_400))
            let tokens = try #require(await scene.refresh(grant, with: renewal).granted)
            #expect(seen.insert(try scene.text(tokens.refreshToken)).inserted)
            renewal = .refreshToken(try #require(tokens.refreshToken))
        }
        #expect(backEnd.refreshes == 5)
        let last = LoginGrant(
            tokens: try #require(await scene.refresh(grant, with: renewal).granted),
            renewal: renewal,
            tokenEndpoint: grant.tokenEndpoint
        )
        #expect(await scene.revoke(last) == .revoked)
        #expect(!backEnd.isAlive(try scene.text(last.tokens.refreshToken)))
        await scene.servers.shutDown()
    }

    @Test func `a refresh answer may leave out how long the refresh token lives`() async throws {
        let backEnd = MobileBackEnd(.signaling)
        backEnd.settings.tellsRefreshExpiry = false
        let scene = try await scene(backEnd)
        let grant = try #require(try await scene.logIn().granted)
        #expect(await scene.refresh(grant).granted?.refreshLifetime == nil)
        await scene.servers.shutDown()
    }

    @Test(arguments: [
        (MobileBackEnd.Style.signaling, "refresh_token_expired", "token_revoked"),
        (.ecall, "ErrRefreshTokenExpired", "ErrRefreshTokenExpired"),
    ])
    func `expired and stolen refresh tokens end the session with their code`(
        style: MobileBackEnd.Style,
        expired: String,
        stolen: String
    ) async throws {
        let backEnd = MobileBackEnd(style)
        let scene = try await scene(backEnd)
        let first = try #require(try await scene.logIn().granted)
        backEnd.advance(by: .seconds(31 * 86_400))
        let end = try #require(await scene.refresh(first).failure)
        #expect((end.kind, end.code) == (.sessionOver, expired))
        let second = try #require(try await scene.logIn().granted)
        #expect(await scene.refresh(second).granted != nil)
        let theft = try #require(await scene.refresh(second).failure)
        #expect((theft.kind, theft.code) == (.sessionOver, stolen))
        await scene.servers.shutDown()
    }

    @Test(arguments: [
        (MobileBackEnd.Style.signaling, "token_revoked", false), (.signaling, "access_token_expired", true),
        (.ecall, "ErrDeviceNotRegistered", false), (.ecall, "ErrAccessTokenExpired", true),
    ])
    func `the back end ends a session by code or by demanding a new login`(
        style: MobileBackEnd.Style,
        code: String,
        requiresReauth: Bool
    ) async throws {
        let backEnd = MobileBackEnd(style)
        let scene = try await scene(backEnd)
        let grant = try #require(try await scene.logIn().granted)
        backEnd.endLogins(code: code, requiresReauth: requiresReauth)
        let failure = try #require(await scene.refresh(grant).failure)
        #expect((failure.kind, failure.code) == (.sessionOver, code))
        await scene.servers.shutDown()
    }

    @Test func `faults on the way are temporary, and the session survives them`() async throws {
        let backEnd = MobileBackEnd(.signaling)
        let scene = try await scene(backEnd)
        let grant = try #require(try await scene.logIn().granted)
        let faults: [(Disturbance, FailureClass)] = [
            (Disturbance(reply: .html("<p>portal</p>")), .misbehaved),
            (Disturbance(reply: .html("<p>portal</p>", status: 401)), .busy),
            (Disturbance(reply: .redirect(to: "https://portal.example/")), .misbehaved),
            (Disturbance(reply: .json(["error": "token_revoked"], status: 503)), .busy),
            (Disturbance(reply: .json(["error": "rate_limited"], status: 429)), .busy),
            (Disturbance(reply: .notFound), .busy),
            (Disturbance(isProcessed: false, ending: .reset(afterBytes: 0)), .ambiguous),
        ]
        for (fault, kind) in faults {
            scene.issuer.queue(fault, for: backEnd.refreshPath)
            #expect(await scene.refresh(grant).failure?.kind == kind)
        }
        #expect(await scene.refresh(grant).granted != nil)
        await scene.servers.shutDown()
    }

    @Test func `a key that is not pinned sees no byte`() async throws {
        let backEnd = MobileBackEnd(.ecall)
        let scene = try await KindScene(backEnd.routes) { address in
            .json(
                JSONBackEnd(
                    loginURL: address + backEnd.loginPath,
                    refreshURL: address + backEnd.refreshPath,
                    logoutURL: nil,
                    rules: .ecall
                )
            )
        }
        let grant = try #require(try await scene.logIn().granted)
        var profile = scene.profile
        profile.trust.pins = ["sha256/" + String(repeating: "A", count: 43) + "="]
        scene.servers.replaceProfiles([scene.name: profile])
        scene.issuer.forgetRequests()
        #expect(await scene.refresh(grant).failure?.kind == .insecure)
        #expect(scene.issuer.requests().isEmpty)
        await scene.servers.shutDown()
    }
}
