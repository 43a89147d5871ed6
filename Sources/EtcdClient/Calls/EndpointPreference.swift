// SPDX-License-Identifier: MIT

import Synchronization

/// Which of the endpoints is asked first: the one that answered last.
final class EndpointPreference: Sendable {
    let endpoints: [EtcdEndpoint]
    private let first: Mutex<Int>

    /// - Parameters:
    ///   - endpoints: at least one.
    ///   - first: the index of the one to begin with, so that not all hosts begin with the same.
    init(_ endpoints: [EtcdEndpoint], first: Int) {
        precondition(!endpoints.isEmpty, "an etcd has a member")
        self.endpoints = endpoints
        self.first = Mutex(first % endpoints.count)
    }

    /// All of them, in the order in which they are to be asked.
    var present: [EtcdEndpoint] {
        let start = first.withLock(\.self)
        return Array(endpoints[start...] + endpoints[..<start])
    }

    /// `endpoint` did not answer: another one is asked first from now on, if nobody has seen to that already.
    func avoid(_ endpoint: EtcdEndpoint) {
        first.withLock { first in
            if endpoints[first] == endpoint { first = (first + 1) % endpoints.count }
        }
    }

    /// `endpoint` has answered.
    func prefer(_ endpoint: EtcdEndpoint) {
        guard let index = endpoints.firstIndex(of: endpoint) else { return }
        first.withLock { $0 = index }
    }
}
