// SPDX-License-Identifier: MIT

import NIOPosix
import Testing

@testable import OAuthClient

/// A redirect listener that waits for the response of one login.
struct WaitingListener {
    let listener: LoopbackListener
    /// What the person's browser was given.
    let address: OpenedAddress

    /// Opens it.
    ///
    /// - Parameters:
    ///   - place: whose requests it answers.
    ///   - limits: of connections.
    ///   - report: hears of requests that are turned away.
    /// - Throws: why it cannot listen.
    init(
        _ place: LoopbackRedirect = .standard(port: 0),
        limits: LoopbackListener.Limits = LoopbackListener.Limits(),
        reporting report: @escaping @Sendable (CallbackError) -> Void = { _ in }
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        listener = try await LoopbackListener.open(place, on: eventLoop, limits: limits)
        let transaction = AuthorizationTransaction(
            redirectURI: "http://127.0.0.1:\(listener.port)/callback",
            issuer: nil,
            namesIssuer: false
        )
        let url = try EndpointURL("https://id.example/authorize")
        address = try #require(OpenedAddress(.openURL(transaction.address(at: url, profile: .fixed()))))
        listener.expect(transaction, reporting: report)
    }
}
