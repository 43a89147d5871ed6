// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// How a server has taken this client's proof, where that had to be tried out; known until the agent ends.
final class LearnedAuthentication: Sendable {
    private struct Known {
        var placement: ClientSecretMethod?
        /// The audience of an assertion, by the address that it is posted to.
        var audiences: [EndpointURL: String] = [:]
    }

    private let known = Mutex(Known())

    /// Where the client secret goes, or `nil` if no server has taken it yet.
    var placement: ClientSecretMethod? { known.withLock { $0.placement } }

    func learn(_ placement: ClientSecretMethod) {
        known.withLock { $0.placement = $0.placement ?? placement }
    }

    /// What an assertion for `url` names, or `nil` if no server has taken one there.
    func audience(at url: EndpointURL) -> String? { known.withLock { $0.audiences[url] } }

    func learn(audience: String, at url: EndpointURL) {
        known.withLock { $0.audiences[url] = audience }
    }
}
