// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization

/// The order in which the endpoints of etcd are tried.
///
/// The endpoint of the last response comes first.
final class EndpointPreference: Sendable {
    let endpoints: [EtcdEndpoint]
    private let first: Mutex<Int>

    /// Creates an order.
    ///
    /// - Parameters:
    ///   - endpoints: at least one endpoint.
    ///   - first: the index of the first endpoint to try, which spreads the hosts over the endpoints.
    init(_ endpoints: [EtcdEndpoint], first: Int) {
        precondition(!endpoints.isEmpty, "an etcd has a member")
        self.endpoints = endpoints
        self.first = Mutex(first % endpoints.count)
    }

    /// All endpoints, in the order in which to try them.
    var present: [EtcdEndpoint] {
        let start = first.withLock(\.self)
        return Array(endpoints[start...] + endpoints[..<start])
    }

    /// Moves on from `endpoint`, which did not respond, unless another endpoint already comes first.
    func avoid(_ endpoint: EtcdEndpoint) {
        first.withLock { first in
            if endpoints[first] == endpoint { first = (first + 1) % endpoints.count }
        }
    }

    /// Makes `endpoint`, which has responded, the first one to try.
    func prefer(_ endpoint: EtcdEndpoint) {
        guard let index = endpoints.firstIndex(of: endpoint) else { return }
        first.withLock { $0 = index }
    }
}
