// SPDX-License-Identifier: MIT

import NIOPosix
import ServerSettings
import Testing

@testable import OAuthClient

/// A redirect listener that waits for the response of one login.
struct WaitingListener {
    let listener: LoopbackListener
    /// The address that was opened in the user's browser.
    let address: OpenedAddress

    /// Opens a listener.
    ///
    /// - Parameters:
    ///   - place: the redirect URI to serve.
    ///   - limits: the limits on connections.
    ///   - report: called with the error of each rejected request.
    /// - Throws: the error why it cannot listen.
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
