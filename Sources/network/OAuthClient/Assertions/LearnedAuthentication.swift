// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TokenCore

/// The ways in which a server has accepted this client's proof, remembered until the agent ends.
///
/// The ways are found by trying. Safe to call from any thread.
final class LearnedAuthentication: Sendable {
    private struct AcceptedMethods {
        var placement: ClientSecretMethod?
        /// The audience of an assertion, by the URL that the assertion is sent to.
        var audiences: [EndpointURL: String] = [:]
    }

    private let known = Mutex(AcceptedMethods())

    /// The place for the client secret, or `nil` if the server has not accepted one yet.
    var placement: ClientSecretMethod? { known.withLock { $0.placement } }

    func learn(_ placement: ClientSecretMethod) {
        known.withLock { $0.placement = $0.placement ?? placement }
    }

    /// Returns the audience that an assertion for `url` names, or `nil` if none was accepted there yet.
    func audience(at url: EndpointURL) -> String? { known.withLock { $0.audiences[url] } }

    func learn(audience: String, at url: EndpointURL) {
        known.withLock { $0.audiences[url] = audience }
    }
}
