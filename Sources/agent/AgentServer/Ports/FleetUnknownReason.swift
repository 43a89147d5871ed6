// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The reason this host cannot tell yet whether a session is logged in, or what its tokens are.
enum FleetUnknownReason {
    /// The first read of etcd has not ended yet.
    case awaited
    case troubled(FleetStoreError)
    /// No host refreshes the session before this wait ends.
    case waiting(FleetWait)

    /// The reason as a clause.
    var sentence: String {
        switch self {
        case .awaited: "etcd has not been read yet"
        case .troubled(let storeError): storeError.sentence
        case .waiting(let wait): "no host can refresh it now: \(wait.reason)"
        }
    }

    var remedy: Remedy? {
        if case .troubled(let storeError) = self { storeError.remedy } else { nil }
    }

    /// Whether only the user can correct the cause.
    var isMistake: Bool {
        if case .troubled(let storeError) = self { storeError.isMistake } else { false }
    }

    /// The delay after which a retry may succeed, or `nil` if it is unknown.
    var retryAfter: Duration? {
        switch self {
        case .awaited: .seconds(1)
        case .troubled: isMistake ? nil : .seconds(10)
        case .waiting(let wait): max(.seconds(1), wait.time)
        }
    }
}
