// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import AgentServer

/// Revocations that wait for etcd, and are given up before it has what they follow from.
struct HeldRevocationTests {
    private let request = RevocationRequest(
        refreshToken: SecretID(rawValue: 1),
        accessToken: SecretID(rawValue: 2),
        tokenEndpoint: nil
    )

    @Test func `tokens that a login has taken from the session are nobody else's`() {
        var held = DeferredRevocations()
        let isHeld = held.hold(.revoke(request), while: true)
        let isKept = held.hold(.erase(SecretID(rawValue: 1)), while: true)
        #expect(isHeld && isKept)
        #expect(held.followsLogout)
        let secrets = held.releaseAll()
        #expect(secrets == request.secrets)
        #expect(held.isEmpty && !held.followsLogout)
    }

    @Test func `tokens of a logout are the session's own`() {
        var held = DeferredRevocations()
        let isHeld = held.hold(.revoke(request), while: true)
        #expect(isHeld)
        let secrets = held.releaseAll()
        #expect(secrets.isEmpty)
    }

    @Test func `tokens that came too late follow from no logout`() {
        var held = DeferredRevocations()
        let isHeld = held.hold(.discard(request), while: true)
        #expect(isHeld && !held.followsLogout)
    }
}
